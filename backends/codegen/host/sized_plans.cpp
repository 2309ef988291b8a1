// Binds plans on cache misses and counts them.
#include "backends/codegen/host/sized_plans.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "backends/codegen/host/bind/bound_report.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::uint64_t bytes_of(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

CallMemoryLease::CallMemoryLease(SizedPlan& plan) : plan_(plan) {
  {
    const std::lock_guard lock(plan.mutex);
    if (!plan.idle_memory.empty()) {
      memory_ = std::move(plan.idle_memory.back());
      plan.idle_memory.pop_back();
    }
  }
  if (!memory_) memory_ = std::make_unique<CallMemory>(*plan.plan);
}

CallMemoryLease::~CallMemoryLease() {
  const std::lock_guard lock(plan_.mutex);
  plan_.idle_memory.push_back(std::move(memory_));
}

std::shared_ptr<SizedPlan> SizedPlans::of(const InputSizes& sizes) {
  return plans_.of(sizes, [&] {
    const ScopedFpEnvironment usual;
    std::shared_ptr<SizedPlan> bound = bind(sizes);
    count(*bound);
    // Only the first sizes are dumped automatically: sizes may change at every call.
    if (bound->number == 1) dump_binding(parts_.dumps, parts_.program, *bound->plan, 1);
    return bound;
  });
}

sdk::ExecutableStats SizedPlans::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void SizedPlans::count(SizedPlan& sized) {
  const std::lock_guard lock(mutex_);
  const BoundPlan& plan = *sized.plan;
  sized.number = ++stats_.bindings;
  const std::int64_t packed = plan.packed_bytes;
  stats_.planned_bytes = std::max(stats_.planned_bytes, bytes_of(plan.arena.bytes + packed));
  stats_.live_bytes = std::max(stats_.live_bytes, bytes_of(plan.arena.live_bytes + packed));
}

std::shared_ptr<SizedPlan> SizedPlans::bind(const InputSizes& given) const {
  const CallSizes sizes(parts_.inputs, parts_.guards, given);
  const EvaluateDim evaluate = std::cref(sizes);
  auto bound = std::make_shared<SizedPlan>();
  with_call_errors([&] {
    const BindInputs inputs{parts_.program.kernels, parts_.functions, evaluate, parts_.library,
                            parts_.host};
    bound->plan = bind_plan(parts_.program.plan, inputs, PlanUse{parts_.unchanged, -1, nullptr});
    for (const ir::Value& result : parts_.results) {
      bound->result_dims.push_back(evaluate_dims(result.dims(), evaluate));
    }
  });
  return bound;
}

void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number) {
  const std::string name = text("sizes-", number);
  dumps.hand_over("claims", name, [&] { return print_library_calls(bound); });
  dumps.hand_over("memory_plan", name, [&] { return print_memory(program, bound); });
}

}  // namespace kiln::codegen
