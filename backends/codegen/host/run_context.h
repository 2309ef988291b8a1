// RunContext: the program, the host and the random state of a run.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"
#include "core/module/module.h"

#include <cstdint>

namespace kiln::codegen {

class SharedWeights;
class StepTrace;

/// Thread state of a target during its work, such as flushing of subnormals. `enter` sets it and
/// returns the previous state for `leave`.
struct ThreadMode {
  std::uint64_t (*enter)() = nullptr;
  void (*leave)(std::uint64_t saved) = nullptr;
};

/// Sets the target's thread mode; the destructor restores the previous one.
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
  SharedWeights* weights = nullptr;
  ThreadMode mode;
  std::uint64_t seed = 0, call_counter = 0;
  void* host_call_context = nullptr;
  bool timed = false;  // see ExecutionList::times
  StepTrace* trace = nullptr;  // of a traced call
};

}  // namespace kiln::codegen
