// A whole communicator, over TCP. It is built with the installed header alone:
//     c++ -std=c++20 -shared -fPIC -fvisibility=hidden tcp_communicator.cpp -I$PREFIX/include
//       -Wl,--version-script=$PREFIX/lib/cmake/kiln/communicator.map -o libkilncomm_tcp.so
// In a transfer each rank sends each other one a message, which is empty from all but the root of a
// broadcast. Options: rank, size, port.
#include "tcp_connections.h"

#include <kiln/backend/kiln_communicator.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>

struct kiln_comm {
  std::vector<std::uint32_t> members;  // ranks of the world
  std::uint32_t rank;  // of this process, in `members`
  std::uint64_t number;  // differs from those of all groups that share a rank with this one
  std::uint64_t started;  // transfers
};

struct kiln_comm_work {
  struct Part {
    std::uint32_t rank;  // of the world
    char* to;
    std::uint64_t bytes;
  };
  tcp::Key key;
  std::vector<Part> parts;  // whose message has not been taken
};

namespace {

constexpr const char* kLibrary = "TCP on this machine";

struct World {
  tcp::Connections connections;
  std::uint32_t rank;
  std::vector<std::unique_ptr<kiln_comm>> groups;  // the world first
};
std::unique_ptr<World> world;
std::uint64_t last_number = 0;  // of the groups of this rank

/// Runs the body of a function of the table: no exception may leave it.
template <class Body>
std::uint32_t guarded(const kiln_comm_reason* reason, const Body& body) noexcept {
  try {
    body();
    return KILN_CODE_OK;
  } catch (const std::exception& error) {
    std::snprintf(reason->text, reason->capacity, "%s", error.what());
    return KILN_CODE_UNAVAILABLE;
  }
}

using Options = std::map<std::string, std::uint32_t>;

Options read_options(const kiln_comm_args& args) {
  Options options{{"rank", 0}, {"size", 1}, {"port", 0}};
  const auto* bytes = static_cast<const char*>(args.options.data);
  for (std::uint64_t i = 0; i < args.options.count; ++i, bytes += args.options.element_stride) {
    const auto& given = *reinterpret_cast<const kiln_option*>(bytes);
    const std::string key(given.key.data, given.key.size);
    const auto option = options.find(key);
    if (option == options.end()) throw std::runtime_error("tcp has no option " + key);
    const char* const end = given.value.data + given.value.size;
    const auto [stop, error] = std::from_chars(given.value.data, end, option->second);
    const bool is_number = error == std::errc() && stop == end;
    if (!is_number) throw std::runtime_error("tcp: " + key + " is a number");
  }
  const bool is_valid = options["rank"] < options["size"] && options["port"] <= 65535 &&
                        options["size"] <= tcp::Connections::kMaxRanks;
  if (!is_valid) throw std::runtime_error("tcp needs rank < size <= 254 and port <= 65535");
  return options;
}

std::uint32_t probe(const kiln_comm_args* args, std::uint32_t* ranks,
                    const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] { *ranks = read_options(*args)["size"]; });
}

kiln_comm* add_group(std::vector<std::uint32_t> members, std::uint64_t number) {
  const auto own = std::find(members.begin(), members.end(), world->rank) - members.begin();
  world->groups.push_back(std::make_unique<kiln_comm>(
      kiln_comm{std::move(members), static_cast<std::uint32_t>(own), number, 0}));
  return world->groups.back().get();
}

std::uint32_t open(const kiln_comm_args* args, kiln_comm** out,
                   const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    Options options = read_options(*args);
    const std::uint32_t rank = options["rank"], size = options["size"];
    world.reset(new World{{rank, size, static_cast<std::uint16_t>(options["port"])}, rank, {}});
    std::vector<std::uint32_t> all(size);
    std::iota(all.begin(), all.end(), 0u);
    *out = add_group(all, 0);
  });
}

std::uint32_t info(kiln_comm* comm, kiln_comm_info* out) noexcept {
  out->rank = out->local_rank = comm->rank;
  out->size = out->local_size = static_cast<std::uint32_t>(comm->members.size());
  out->library = {kLibrary, std::string_view(kLibrary).size()};
  return KILN_CODE_OK;
}

/// Sends the messages of a transfer, and notes those that it waits for.
std::unique_ptr<kiln_comm_work> begin(kiln_comm& comm, const kiln_comm_transfer& transfer) {
  auto work = std::make_unique<kiln_comm_work>();
  work->key = {comm.number, comm.started++};
  const bool is_broadcast = transfer.kind == KILN_COMM_BROADCAST;
  const auto* from = static_cast<const char*>(is_broadcast ? transfer.receive : transfer.send);
  auto* to = static_cast<char*>(transfer.receive);
  for (std::uint32_t i = 0; i < comm.members.size(); ++i) {
    const bool sends = !is_broadcast || comm.rank == transfer.root;
    const bool receives = !is_broadcast || i == transfer.root;
    if (i != comm.rank) {
      world->connections.send(comm.members[i], work->key, from, sends ? transfer.bytes : 0);
      work->parts.push_back({comm.members[i], to, receives ? transfer.bytes : 0});
    } else if (!is_broadcast && transfer.bytes != 0) {
      std::memcpy(to, from, transfer.bytes);
    }
    if (transfer.kind == KILN_COMM_ALL_TO_ALL) from += transfer.bytes;
    if (!is_broadcast) to += transfer.bytes;
  }
  return work;
}

/// Takes the messages that are here. Returns whether none is missing.
bool advance(kiln_comm_work& work) {
  std::erase_if(work.parts, [&](const kiln_comm_work::Part& part) {
    const auto message = world->connections.take(part.rank, work.key);
    if (!message) return false;
    if (message->size() != part.bytes) throw std::runtime_error("ranks differ in their transfers");
    if (part.bytes != 0) std::memcpy(part.to, message->data(), part.bytes);
    return true;
  });
  return work.parts.empty();
}

std::uint32_t start(kiln_comm* comm, const kiln_comm_transfer* transfer, kiln_comm_work** work,
                    const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] { *work = begin(*comm, *transfer).release(); });
}

std::uint32_t test(kiln_comm_work* work, std::uint32_t* done,
                   const kiln_comm_reason* reason) noexcept {
  return guarded(reason, [&] {
    *done = advance(*work) ? 1 : 0;
    if (*done != 0) delete work;
  });
}

std::uint32_t split(kiln_comm* comm, std::int64_t color, std::int64_t key, kiln_comm** part,
                    const kiln_comm_reason* reason) noexcept {
  struct Member {
    std::int64_t color, key;
    std::uint64_t last_number;
    std::uint32_t rank;  // of the world
  };
  return guarded(reason, [&] {
    const Member own{color, key, last_number, world->rank};
    std::vector<Member> all(comm->members.size());
    const auto work = begin(*comm, {sizeof(kiln_comm_transfer), nullptr, KILN_COMM_ALL_GATHER, 0,
                                    &own, all.data(), sizeof own});
    while (!advance(*work)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    std::stable_sort(all.begin(), all.end(),
                     [](const Member& a, const Member& b) { return a.key < b.key; });
    std::vector<std::uint32_t> members;
    for (const Member& one : all) {
      last_number = std::max(last_number, one.last_number + 1);
      if (one.color == color) members.push_back(one.rank);
    }
    *part = add_group(members, last_number);
  });
}

/// The others find the connection closed.
void abort(kiln_comm*, std::uint32_t exit_code) noexcept { ::_exit(static_cast<int>(exit_code)); }

std::uint32_t close(kiln_comm*, const kiln_comm_reason*) noexcept {
  world.reset();
  return KILN_CODE_OK;
}

constexpr kiln_communicator_api kApi{sizeof kApi, nullptr, probe,   open,  info, split,
                                     start,       test,    nullptr, abort, close};

constexpr kiln_communicator_header kHeader{sizeof kHeader,
                                           nullptr,
                                           KILN_COMM_MAGIC,
                                           KILN_COMM_ABI_MAJOR,
                                           KILN_COMM_ABI_MINOR,
                                           KILN_COMM_ABI_MINOR,
                                           KILN_SANITIZER_NONE,
                                           {"tcp", 3},
                                           {"1", 1},
                                           {"1", 1},
                                           sizeof kApi,
                                           &kApi};

}  // namespace

std::uint32_t kiln_communicator_query(const kiln_host_info* host,
                                      const kiln_communicator_header** header) {
  const bool is_known = host->magic == KILN_HOST_MAGIC && host->abi_major == KILN_COMM_ABI_MAJOR &&
                        host->abi_minor_lowest == KILN_COMM_ABI_MINOR;
  if (!is_known) return KILN_CODE_UNIMPLEMENTED;
  *header = &kHeader;
  return KILN_CODE_OK;
}
