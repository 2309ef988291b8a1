// Implements the C table by the classes of communicator.h. Every function is noexcept and writes
// its outputs after everything that can fail.
#include "backends/abi/kiln_communicator_report.h"
#include "backends/mpi/communicator.h"
#include "backends/mpi/launcher.h"
#include "backends/mpi/report.h"

#include <algorithm>
#include <cstring>

namespace kiln::mpi {
namespace {

/// Of this process, which joins a group once. Destroyed by close alone: MPI may not be called while
/// the process ends.
World* world = nullptr;
bool was_opened = false;

/// Returns the code of an error and copies its text to `reason`, which may be null.
std::uint32_t code_of(kiln_error* error, const kiln_comm_reason* reason) noexcept {
  if (error == nullptr) return KILN_CODE_OK;
  auto info = abi::fresh<kiln_error_info>();
  sdk::detail::error_read(error, &info);
  const bool has_text = reason != nullptr && reason->struct_size >= sizeof(kiln_comm_reason) &&
                        reason->text != nullptr && reason->capacity != 0;
  if (has_text) {
    const std::uint64_t size = std::min<std::uint64_t>(info.message.size, reason->capacity - 1);
    std::memcpy(reason->text, info.message.data, size);
    reason->text[size] = '\0';
  }
  const std::uint32_t code = info.code;
  sdk::detail::error_destroy(error);
  return code;
}

template <class Body>
std::uint32_t guarded(const kiln_comm_reason* reason, Body&& body) noexcept {
  return code_of(sdk::detail::guarded(std::forward<Body>(body)), reason);
}

sdk::Failure invalid(const std::string& text) { return {KILN_CODE_INVALID_ARGUMENT, text}; }

template <class Object>
Object& given(Object* object, const char* name) {
  if (object == nullptr) throw invalid(std::string(name) + " is null");
  return *object;
}

World& joined(kiln_comm* comm) {
  if (world != nullptr && comm == &world->group()) return *world;
  throw invalid("the group is not the world of this process");
}

void check_options(const kiln_comm_args* args) {
  const auto options = abi::read_request(args, "kiln_comm_args").options;
  for (const auto& [key, value] : sdk::detail::read_options(options)) {
    throw invalid("the communicator mpi has no option \"" + key + "\"; it has none");
  }
}

kiln_comm_transfer checked(const kiln_comm_transfer* args, const kiln_comm& group) {
  const auto transfer = abi::read_request(args, "kiln_comm_transfer");
  const std::string bytes = std::to_string(transfer.bytes);
  const bool is_broadcast = transfer.kind == KILN_COMM_BROADCAST;
  if (transfer.kind > KILN_COMM_BROADCAST) {
    throw invalid("a transfer has the unknown kind " + std::to_string(transfer.kind));
  }
  if (transfer.bytes > KILN_COMM_MAX_BYTES) {
    throw invalid("a transfer has parts of " + bytes + " bytes, more than " +
                  std::to_string(KILN_COMM_MAX_BYTES));
  }
  if (is_broadcast && transfer.root >= group.size) {
    throw invalid("a broadcast has the root " + std::to_string(transfer.root) + " of " +
                  std::to_string(group.size) + " ranks");
  }
  const bool lacks_memory =
      transfer.receive == nullptr || (!is_broadcast && transfer.send == nullptr);
  if (lacks_memory && transfer.bytes != 0) {
    throw invalid("a transfer of " + bytes + " bytes has no memory");
  }
  return transfer;
}

std::uint32_t probe(const kiln_comm_args* args, std::uint32_t* ranks,
                    const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    check_options(args);
    given(ranks, "ranks") = find_launcher().ranks;
  });
}

std::uint32_t open(const kiln_comm_args* args, kiln_comm** out,
                   const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    check_options(args);
    kiln_comm*& result = given(out, "world");
    if (was_opened) {
      throw sdk::Failure(KILN_CODE_ALREADY_EXISTS, "this process has joined a group before");
    }
    world = open_world().release();
    was_opened = true;
    result = &world->group();
  });
}

std::uint32_t info(kiln_comm* comm, kiln_comm_info* out) noexcept {
  return guarded(nullptr, [&] {
    const kiln_comm& group = given(comm, "group");
    auto result = abi::fresh<kiln_comm_info>();
    result.rank = group.rank;
    result.size = group.size;
    result.local_rank = group.local_rank;
    result.local_size = group.local_size;
    result.library = abi::string_of(group.library());
    abi::write(out, result);
  });
}

std::uint32_t split(kiln_comm* comm, std::int64_t color, std::int64_t key, kiln_comm** part,
                    const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] { given(part, "part") = given(comm, "group").split(color, key); });
}

std::uint32_t start(kiln_comm* comm, const kiln_comm_transfer* args, kiln_comm_work** work,
                    const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    kiln_comm& group = given(comm, "group");
    given(work, "work") = group.start(checked(args, group)).release();
  });
}

std::uint32_t test(kiln_comm_work* work, std::uint32_t* done,
                   const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    std::uint32_t& result = given(done, "done");
    const bool is_done = given(work, "work").is_done();
    if (is_done) delete work;
    result = is_done ? 1 : 0;
  });
}

std::uint32_t notify(kiln_comm* comm, kiln_string text, OnText on_text, void* context) noexcept {
  return guarded(nullptr, [&] { joined(comm).notify(abi::view_of(text), on_text, context); });
}

void abort(kiln_comm* comm, std::uint32_t exit_code) noexcept {
  guarded(nullptr, [&] { joined(comm).abort(static_cast<int>(exit_code)); });
}

std::uint32_t close(kiln_comm* comm, const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    joined(comm).close();
    delete world;
    world = nullptr;
  });
}

std::uint32_t report(const kiln_comm_args* args, kiln_string launcher, kiln_string version,
                     void (*on_line)(void* context, kiln_string line), void* context,
                     const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    check_options(args);
    report_library(std::string(abi::view_of(launcher)), std::string(abi::view_of(version)),
                   [&](const std::string& line) { on_line(context, abi::string_of(line)); });
  });
}

constexpr kiln_comm_report kReport{
    .ext = {.struct_size = sizeof(kiln_comm_report),
            .next = nullptr,
            .type_id = KILN_COMM_REPORT_TYPE,
            .must_understand = 0,
            .reserved = 0},
    .report = report,
};

constexpr kiln_communicator_api kApi{
    .struct_size = sizeof(kiln_communicator_api),
    .next = &kReport.ext,
    .probe = probe,
    .open = open,
    .info = info,
    .split = split,
    .start = start,
    .test = test,
    .notify = notify,
    .abort = abort,
    .close = close,
};

constexpr kiln_string literal(std::string_view text) { return {text.data(), text.size()}; }

constexpr kiln_communicator_header kHeader{
    .struct_size = sizeof(kiln_communicator_header),
    .next = nullptr,
    .magic = KILN_COMM_MAGIC,
    .abi_major = KILN_COMM_ABI_MAJOR,
    .abi_minor_lowest = KILN_COMM_ABI_MINOR,
    .abi_minor_highest = KILN_COMM_ABI_MINOR,
    .sanitizer = abi::this_sanitizer(),
    .name = literal("mpi"),
    .version = literal(KILN_VERSION),
    .build_id = literal("mpi"),
    .required_api_size = sizeof(kiln_communicator_api),
    .api = &kApi,
};

}  // namespace
}  // namespace kiln::mpi

std::uint32_t kiln_communicator_query(const kiln_host_info* host,
                                      const kiln_communicator_header** header) {
  if (host == nullptr || header == nullptr || host->magic != KILN_HOST_MAGIC) {
    return KILN_CODE_INVALID_ARGUMENT;
  }
  for (const kiln_ext* ext = host->next; ext != nullptr; ext = ext->next) {
    if (ext->must_understand == 0) continue;
    return kiln::sdk::detail::reject(
        host, KILN_CODE_UNIMPLEMENTED,
        "the host demands an extension that this communicator does not know");
  }
  *header = &kiln::mpi::kHeader;
  return KILN_CODE_OK;
}
