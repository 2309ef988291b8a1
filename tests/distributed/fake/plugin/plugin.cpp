// The C interface of the fake communicator, libkilncomm_fake.so.
#include "backends/abi/kiln_backend_structs.h"
#include "backends/abi/kiln_communicator_idle.h"
#include "tests/distributed/fake/plugin/communicator.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kiln::fake {
namespace {

/// Runs `body`; of an exception, returns the code and writes the text to `reason`.
template <class Body>
std::uint32_t guarded(const kiln_comm_reason* reason, const Body& body) noexcept {
  const auto write = [&](const char* text) {
    if (reason == nullptr || reason->text == nullptr || reason->capacity == 0) return;
    const std::size_t size = std::min<std::size_t>(std::strlen(text), reason->capacity - 1);
    std::memcpy(reason->text, text, size);
    reason->text[size] = 0;
  };
  try {
    body();
    return KILN_CODE_OK;
  } catch (const Failure& failure) {
    write(failure.what());
    return failure.code();
  } catch (const std::exception& error) {
    write(error.what());
    return KILN_CODE_INTERNAL;
  }
}

/// Throws Misuse where abi::read_request rejects the struct.
template <class T>
T read(const T* given, const char* name) {
  try {
    return abi::read_request(given, name);
  } catch (const abi::BrokenStruct& broken) {
    throw Misuse(broken.what());
  }
}

struct Options {
  World* world = nullptr;
  std::uint64_t rank = 0;
};

std::uint64_t number_of(const std::string& key, std::string_view value) {
  std::uint64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  throw Misuse("the option " + key + " is \"" + std::string(value) + "\", expected a number");
}

Options options_of(const kiln_comm_args* given) {
  const kiln_comm_args args = read(given, "kiln_comm_args");
  Options options;
  const abi::RequestElements<kiln_option> elements(args.options, "kiln_option");
  for (std::uint64_t i = 0; i < elements.size(); ++i) {
    const std::string key(abi::view_of(elements[i].key));
    const bool is_memory = key == "memory";
    if (!is_memory && key != "rank") {
      throw Misuse("unknown option \"" + key + "\"; there are memory and rank");
    }
    const std::uint64_t number = number_of(key, abi::view_of(elements[i].value));
    if (is_memory) options.world = reinterpret_cast<World*>(number);
    if (!is_memory) options.rank = number;
  }
  if (options.world != nullptr && options.world->magic != kMagic) {
    throw Misuse("the option memory is no address of a world");
  }
  return options;
}

std::uint32_t probe(const kiln_comm_args* args, std::uint32_t* ranks,
                    const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    const World* const world = options_of(args).world;
    *ranks = world == nullptr ? 1 : world->settings.ranks;
  });
}

std::uint32_t open(const kiln_comm_args* args, kiln_comm** world, const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    const Options options = options_of(args);
    if (options.world == nullptr) throw Misuse("open: the option memory is missing");
    const auto rank = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.rank, kMaxRanks));
    auto joined = std::make_unique<Communicator>(*options.world, rank);
    *world = joined.release()->world();
  });
}

std::uint32_t info(kiln_comm* comm, kiln_comm_info* result) {
  return guarded(nullptr, [&] { abi::write(result, comm->rank->info(*comm)); });
}

std::uint32_t split(kiln_comm* comm, std::int64_t color, std::int64_t key, kiln_comm** part,
                    const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    *part = comm->rank->call("split", [&] { return comm->rank->split(*comm, color, key); });
  });
}

std::uint32_t start(kiln_comm* comm, const kiln_comm_transfer* transfer, kiln_comm_work** work,
                    const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    *work = comm->rank->call(
        "start", [&] { return comm->rank->start(*comm, read(transfer, "kiln_comm_transfer")); });
  });
}

std::uint32_t test(kiln_comm_work* work, std::uint32_t* done, const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    const kiln_comm& comm = *work->comm;
    *done = comm.rank->call("test", [&] { return comm.rank->test(*work); });
  });
}

std::uint32_t notify(kiln_comm* world, kiln_string text,
                     void (*on_text)(void* context, std::uint32_t rank, kiln_string text),
                     void* context) {
  return guarded(nullptr, [&] {
    const auto arrived = world->rank->call(
        "notify", [&] { return world->rank->notify(*world, abi::view_of(text)); });
    for (const Note& note : arrived) {
      if (on_text != nullptr) on_text(context, note.rank, {note.text, note.size});
    }
  });
}

void abort(kiln_comm* world, std::uint32_t exit_code) { world->rank->abort(exit_code); }

std::uint32_t close(kiln_comm* world, const kiln_comm_reason* reason) {
  return guarded(reason, [&] {
    Communicator* const rank = world->rank;
    const std::string fault = rank->call("close", [&] { return rank->close(*world); });
    delete rank;  // not after an error of the call
    if (!fault.empty()) throw Failure(KILN_CODE_INVALID_ARGUMENT, fault);
  });
}

void idle(kiln_comm* world) {
  guarded(nullptr, [&] { world->rank->idle(); });
}

const kiln_comm_idle kIdle{.ext = {sizeof(kiln_comm_idle), nullptr, KILN_COMM_IDLE_TYPE, 0, 0},
                           .idle = idle};
const kiln_communicator_api kApi{sizeof(kiln_communicator_api),
                                 &kIdle.ext,
                                 probe,
                                 open,
                                 info,
                                 split,
                                 start,
                                 test,
                                 notify,
                                 abort,
                                 close};
const kiln_communicator_header kHeader{.struct_size = sizeof(kiln_communicator_header),
                                       .next = nullptr,
                                       .magic = KILN_COMM_MAGIC,
                                       .abi_major = KILN_COMM_ABI_MAJOR,
                                       .abi_minor_lowest = KILN_COMM_ABI_MINOR,
                                       .abi_minor_highest = KILN_COMM_ABI_MINOR,
                                       .sanitizer = abi::this_sanitizer(),
                                       .name = {"fake", 4},
                                       .version = {KILN_VERSION, sizeof KILN_VERSION - 1},
                                       .build_id = {KILN_VERSION, sizeof KILN_VERSION - 1},
                                       .required_api_size = sizeof(kiln_communicator_api),
                                       .api = &kApi};

}  // namespace
}  // namespace kiln::fake

std::uint32_t kiln_communicator_query(const kiln_host_info*,
                                      const kiln_communicator_header** header) {
  *header = &kiln::fake::kHeader;
  return KILN_CODE_OK;
}
