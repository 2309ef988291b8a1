// Plans are bound on a cache miss, and counted.
#include "backends/codegen/host/sized_plans.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "backends/codegen/host/bind/bound_report.h"
#include "core/types/float_state.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::uint64_t bytes_of(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

FrameLease::FrameLease(SizedPlan& plan) : plan_(plan) {
  {
    const std::lock_guard lock(plan.mutex);
    if (!plan.frames.empty()) {
      frame_ = std::move(plan.frames.back());
      plan.frames.pop_back();
    }
  }
  if (!frame_) frame_ = std::make_unique<Frame>(*plan.plan);
}

FrameLease::~FrameLease() {
  const std::lock_guard lock(plan_.mutex);
  plan_.frames.push_back(std::move(frame_));
}

std::shared_ptr<SizedPlan> SizedPlans::of(const InputSizes& sizes) {
  return plans_.of(sizes, [&] {
    const UsualFloatState usual;
    std::shared_ptr<SizedPlan> made = make(sizes);
    count(*made);
    // Sizes may change at every call: only the first that are seen leave a file by themselves.
    if (made->number == 1) dump_binding(parts_.dumps, parts_.program, *made->plan, 1);
    return made;
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

std::shared_ptr<SizedPlan> SizedPlans::make(const InputSizes& given) const {
  const CallSizes sizes(parts_.inputs, parts_.guards, given);
  const EvaluateDim evaluate = std::cref(sizes);
  auto made = std::make_shared<SizedPlan>();
  with_call_errors([&] {
    const BindInputs inputs{parts_.program.kernels, parts_.functions, evaluate, parts_.library,
                            parts_.host};
    made->plan = bind_plan(parts_.program.plan, inputs, PlanUse{parts_.kept, -1, nullptr});
    for (const ir::Value& result : parts_.results) {
      made->result_dims.push_back(evaluate_dims(result.dims(), evaluate));
    }
  });
  return made;
}

void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number) {
  const std::string name = text("sizes-", number);
  dumps.hand_over("claims", name, [&] { return print_products(bound); });
  dumps.hand_over("memory_plan", name, [&] { return print_memory(program, bound); });
}

}  // namespace kiln::codegen
