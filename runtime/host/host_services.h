// Services of the host for plugins: log lines, dumps, parallel loops and host functions. One
// constant table; the context passed to each instance has what differs between instances.
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace kiln::runtime {

class CollectiveService;  // host_functions.h

/// The context of one backend instance; outlives the instance.
struct HostContext {
  std::string backend;  // prefix of its log lines
};

/// The context of one call of a program with host functions; valid during the call.
struct HostCallContext {
  std::string_view function;  // name of the compiled function, for messages
  std::exception_ptr thrown;  // by a host function, rethrown after the call with its type
  CollectiveService* collectives = nullptr;  // of the call; null: it has none
};

/// One dump item of a backend.
struct BackendDump {
  std::string_view backend, label, stage, name, media_type;
  std::uint64_t ordinal = 0;
  std::span<const std::byte> bytes;
};

/// Receives dumps. Both functions may be called from any thread and must not throw.
struct DumpReceiver {
  bool (*wanted)(std::string_view stage) = nullptr;
  void (*take)(const BackendDump& dump) = nullptr;
};
/// Replaces the receiver of the process; initially null functions, which want nothing. Thread-safe.
void set_dump_receiver(DumpReceiver receiver);

/// Returns the table that every instance gets.
const kiln_host_api& host_api();

}  // namespace kiln::runtime
