// Running a bound plan: steps in order over one arena, no allocation and no lookup on the way.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/binding.h"
#include "core/module/module.h"

namespace kiln::codegen {

/// What a target does around work on a thread, such as flushing subnormals; see Target.
struct ThreadMode {
  std::uint64_t (*enter)() = nullptr;
  void (*leave)(std::uint64_t saved) = nullptr;
};

/// Pointers of one plan while it runs, and the tables that its kernels read.
struct PlanFrame {
  std::vector<std::byte*> slots;
  std::vector<std::vector<std::byte*>> buffers;  // of each step, one per operand
  std::vector<std::vector<PlanFrame>> bodies;    // of each step
  std::int64_t step_number = 0;                  // t of the loop whose body this is
};

/// Memory for one call at a time. Made once, reused by later calls.
struct Frame {
  explicit Frame(const BoundPlan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame();

  std::byte* arena = nullptr;
  PlanFrame top;
};

struct RunContext {
  const Program* program = nullptr;
  const module::Module* module = nullptr;  // for the source lines of errors
  const sdk::Host* host = nullptr;
  ThreadMode mode;
  std::uint64_t seed = 0, call_counter = 0;
  void* host_call_context = nullptr;
};

/// REQUIRES: the slots of arguments and results of `frame.top` are set. Throws sdk::Failure.
void run_plan(const BoundPlan& plan, Frame& frame, const RunContext& context);

/// Somewhere to point to for tensors without elements.
std::byte* nowhere();

}  // namespace kiln::codegen
