// What the host does for plugins: log lines, dumps, parallel loops and host functions. The table
// is one constant; what differs between instances is in the context that they are given.
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// One per backend instance; outlives it.
struct HostContext {
  std::string backend;  // its name, put before its log lines
};

/// One per call of a program that may call back; lives during the call.
struct HostCallContext {
  std::string_view function;  // the name of the user's function, for messages
  std::exception_ptr thrown;  // what the host function threw, kept with its type
};

/// One thing that a backend offers for looking inside.
struct BackendDump {
  std::string_view backend, label, stage, name, media_type;
  std::uint64_t ordinal = 0;
  std::span<const std::byte> bytes;
};

/// Who takes dumps: both functions may be called from any thread and must not throw.
struct DumpReceiver {
  bool (*wanted)(std::string_view stage) = nullptr;
  void (*take)(const BackendDump& dump) = nullptr;
};
/// Replaces the receiver of the whole process; none at first, and then nothing is wanted.
void set_dump_receiver(DumpReceiver receiver);

/// The table handed to every instance.
const kiln_host_api& host_api();

}  // namespace kiln::runtime
