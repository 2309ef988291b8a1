// RunContext: the program, the host and the random state that running a bound plan needs beside its
// memory (Tape).
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"
#include "core/module/module.h"

#include <cstdint>

namespace kiln::codegen {

/// Per-thread setup and teardown around work, such as flushing subnormals (HostTarget).
struct ThreadMode {
  std::uint64_t (*enter)() = nullptr;
  void (*leave)(std::uint64_t saved) = nullptr;
};

/// The mode of the target while it lives.
class ScopedThreadMode {
 public:
  explicit ScopedThreadMode(const ThreadMode& mode)
      : mode_(mode), saved_(mode.enter ? mode.enter() : 0) {}
  ~ScopedThreadMode() {
    if (mode_.leave) mode_.leave(saved_);
  }
  ScopedThreadMode(const ScopedThreadMode&) = delete;
  ScopedThreadMode& operator=(const ScopedThreadMode&) = delete;

 private:
  const ThreadMode& mode_;
  std::uint64_t saved_;
};

struct RunContext {
  const Program* program = nullptr;
  const module::Module* module = nullptr;  // for the source lines of errors
  const sdk::Host* host = nullptr;
  ThreadMode mode;
  std::uint64_t seed = 0, call_counter = 0;
  void* host_call_context = nullptr;
  bool timed = false;  // see Tape::times
};

}  // namespace kiln::codegen
