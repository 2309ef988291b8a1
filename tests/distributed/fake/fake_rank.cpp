// Opens the plugin and translates its codes.
#include "tests/distributed/fake/fake_rank.h"
#include "backends/abi/kiln_backend_structs.h"
#include "tests/support/build_folder.h"

#include <dlfcn.h>

#include <array>

namespace kiln::fake {
namespace {

const kiln_communicator_api& open_plugin() {
  const std::string file = testing::build_folder() + "/lib/tests/libkilncomm_fake.so";
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  void* const symbol = ::dlsym(library, KILN_COMM_ENTRY_SYMBOL);
  if (symbol == nullptr) throw std::runtime_error(::dlerror());
  const auto query = reinterpret_cast<kiln_communicator_query_fn>(symbol);
  const kiln_host_info host = abi::fresh<kiln_host_info>();
  const kiln_communicator_header* header = nullptr;
  if (query(&host, &header) != KILN_CODE_OK) throw std::runtime_error("query failed");
  return *header->api;
}

/// Calls `function` with room for the reason; throws it for another code than OK.
template <class Function>
void check(const Function& function) {
  std::array<char, 8192> text{};
  kiln_comm_reason reason = abi::fresh<kiln_comm_reason>();
  reason.text = text.data();
  reason.capacity = text.size();
  const std::uint32_t code = function(&reason);
  if (code != KILN_CODE_OK) throw CommunicatorError(code, text.data());
}

kiln_comm_transfer transfer_of(std::uint32_t kind, const void* send, ByteVector& receive,
                               std::size_t bytes) {
  kiln_comm_transfer transfer = abi::fresh<kiln_comm_transfer>();
  transfer.kind = kind;
  transfer.send = send;
  transfer.receive = receive.data();
  transfer.bytes = bytes;
  return transfer;
}

}  // namespace

const kiln_communicator_api& fake_api() {
  static const kiln_communicator_api& api = open_plugin();
  return api;
}

const kiln_comm_idle& fake_idle() {
  const kiln_ext* extension = fake_api().next;
  while (extension != nullptr && extension->type_id != KILN_COMM_IDLE_TYPE) {
    extension = extension->next;
  }
  if (extension == nullptr) throw std::runtime_error("the fake has no kiln_comm_idle");
  return *reinterpret_cast<const kiln_comm_idle*>(extension);
}

FakeRank::FakeRank(const Ranks& ranks, std::uint32_t rank) : FakeRank(ranks.options(rank)) {}

FakeRank::FakeRank(const std::vector<std::pair<std::string, std::string>>& options) {
  std::vector<kiln_option> given;
  for (const auto& [key, value] : options) {
    kiln_option& option = given.emplace_back(abi::fresh<kiln_option>());
    option.key = abi::string_of(key);
    option.value = abi::string_of(value);
  }
  kiln_comm_args args = abi::fresh<kiln_comm_args>();
  args.options = abi::array_of(std::span<const kiln_option>(given));
  check([&](const kiln_comm_reason* reason) { return fake_api().open(&args, &world_, reason); });
}

kiln_comm_info FakeRank::info(kiln_comm* comm) const {
  kiln_comm_info info = abi::fresh<kiln_comm_info>();
  check([&](const kiln_comm_reason*) { return fake_api().info(comm, &info); });
  return info;
}

kiln_comm* FakeRank::split(kiln_comm* comm, std::int64_t color, std::int64_t key) const {
  kiln_comm* part = nullptr;
  check([&](const kiln_comm_reason* reason) {
    return fake_api().split(comm, color, key, &part, reason);
  });
  return part;
}

kiln_comm_work* FakeRank::start(kiln_comm* comm, const kiln_comm_transfer& transfer) const {
  kiln_comm_work* work = nullptr;
  check([&](const kiln_comm_reason* reason) {
    return fake_api().start(comm, &transfer, &work, reason);
  });
  return work;
}

bool FakeRank::test(kiln_comm_work* work) const {
  std::uint32_t done = 0;
  check([&](const kiln_comm_reason* reason) { return fake_api().test(work, &done, reason); });
  return done != 0;
}

std::vector<std::size_t> FakeRank::wait(std::vector<kiln_comm_work*> works) const {
  std::vector<std::size_t> order;
  while (order.size() < works.size()) {
    const std::size_t before = order.size();
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i] == nullptr || !test(works[i])) continue;
      works[i] = nullptr;
      order.push_back(i);
    }
    if (order.size() == before) idle();
  }
  return order;
}

std::vector<std::string> FakeRank::notify(std::string_view text) const {
  std::vector<std::string> arrived;
  const auto on_text = [](void* context, std::uint32_t rank, kiln_string line) {
    static_cast<std::vector<std::string>*>(context)->push_back(std::to_string(rank) + ": " +
                                                               std::string(abi::view_of(line)));
  };
  check([&](const kiln_comm_reason*) {
    return fake_api().notify(world_, abi::string_of(text), on_text, &arrived);
  });
  return arrived;
}

void FakeRank::close(kiln_comm* comm) const {
  check([&](const kiln_comm_reason* reason) { return fake_api().close(comm, reason); });
}

kiln_comm_transfer all_gather(const ByteVector& send, ByteVector& receive) {
  return transfer_of(KILN_COMM_ALL_GATHER, send.data(), receive, send.size());
}

kiln_comm_transfer all_to_all(const ByteVector& send, ByteVector& receive, std::uint32_t ranks) {
  return transfer_of(KILN_COMM_ALL_TO_ALL, send.data(), receive, send.size() / ranks);
}

kiln_comm_transfer broadcast(std::uint32_t root, ByteVector& receive) {
  kiln_comm_transfer transfer = transfer_of(KILN_COMM_BROADCAST, nullptr, receive, receive.size());
  transfer.root = root;
  return transfer;
}

}  // namespace kiln::fake
