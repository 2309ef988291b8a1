// Running a bound plan: steps in order over one arena, no allocation and no lookup on the way.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/host/tape.h"
#include "core/module/module.h"

#include <cstdlib>
#include <memory>

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

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory for one call at a time, and the tape over it. Made once, reused by later calls.
struct Frame {
  /// Throws sdk::Failure when there is no memory.
  explicit Frame(const BoundPlan& plan);

  std::unique_ptr<std::byte, FreeMemory> arena, packed;
  Tape top;
  std::vector<std::uint64_t> packed_versions;  // of the slots that are packed, see Tape
  std::vector<std::uint64_t> kept_versions;    // of BoundPlan::kept_arguments in the last run
  std::uint64_t kept_runs = 0;                 // how often the kept steps ran
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

/// REQUIRES: arguments and results of `frame.top` are placed. Throws sdk::Failure.
void run_plan(Frame& frame, const RunContext& context);

}  // namespace kiln::codegen
