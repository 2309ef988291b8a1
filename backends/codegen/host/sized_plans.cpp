// Binds plans on cache misses and counts them.
#include "backends/codegen/host/sized_plans.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "backends/codegen/host/bind/bound_report.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <algorithm>
#include <chrono>

namespace kiln::codegen {
namespace {

std::uint64_t bytes_of(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

SizedPlans::SizedPlans(const SizedParts& parts)
    : parts_(parts),
      facts_(parts.program, parts.unchanged),
      sizes_(parts.inputs, parts.guards),
      scratch_(4096) {}

std::shared_ptr<SizedPlan> SizedPlans::of(const InputSizes& sizes) {
  return plans_.of(sizes, [&] {
    using Clock = std::chrono::steady_clock;
    const ScopedFpEnvironment usual;
    const Clock::time_point start = Clock::now();
    std::shared_ptr<SizedPlan> bound = bind(sizes);
    count(*bound);
    parts_.dumps.binding(sizes, bound->number, start);
    if (parts_.bindings.is_measured()) {
      const std::chrono::duration<double> taken = Clock::now() - start;
      parts_.bindings.add(bound->number, taken.count(), sizes);
    }
    // Only the first sizes are dumped automatically: sizes may change at every call.
    if (bound->number == 1) dump_binding(parts_.dumps, parts_.program, *bound->plan, 1);
    return bound;
  });
}

std::shared_ptr<SizedPlan> SizedPlans::largest() const {
  std::shared_ptr<SizedPlan> largest;
  for (std::shared_ptr<SizedPlan>& one : plans_.all()) {
    if (!largest || one->plan->arena.bytes > largest->plan->arena.bytes) largest = std::move(one);
  }
  return largest;
}

sdk::ExecutableStats SizedPlans::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void SizedPlans::count(SizedPlan& sized) {
  const std::lock_guard lock(mutex_);
  const BoundPlan& plan = *sized.plan;
  sized.number = ++stats_.bindings;
  const std::int64_t packed = plan.weight_bytes;
  stats_.planned_bytes = std::max(stats_.planned_bytes, bytes_of(plan.arena.bytes + packed));
  stats_.live_bytes = std::max(stats_.live_bytes, bytes_of(plan.arena.live_bytes + packed));
}

std::shared_ptr<SizedPlan> SizedPlans::bind(const InputSizes& given) {
  sizes_.solve(given);
  auto sized = std::make_shared<SizedPlan>(plan_bytes_);
  CountedHeap more;
  std::size_t wanted = scratch_.size();
  {
    std::pmr::monotonic_buffer_resource scratch(scratch_.data(), scratch_.size(), &more);
    const std::shared_ptr<SizedPlan> last = last_.lock();
    sized->plan =
        with_call_errors([&] { return bind(*sized, last ? last->plan.get() : nullptr, &scratch); });
    last_ = sized;
    // One block was large enough, and is larger than the estimate: it has a header.
    const CountedHeap& heap = sized->memory.heap;
    if (heap.blocks() > 1) plan_bytes_ = heap.bytes();
    wanted += static_cast<std::size_t>(more.bytes());
  }
  if (wanted != scratch_.size()) scratch_.resize(wanted);
  return sized;
}

BoundPlanPtr SizedPlans::bind(SizedPlan& sized, const BoundPlan* previous,
                              std::pmr::memory_resource* scratch) const {
  const EvaluateDim evaluate = std::cref(sizes_);
  return bind_program({.program = parts_.program,
                       .facts = facts_,
                       .functions = parts_.functions,
                       .evaluate = evaluate,
                       .forms = parts_.forms,
                       .library = parts_.library,
                       .host = parts_.host,
                       .previous = previous,
                       .memory = {.plan = &sized.memory.blocks, .scratch = scratch}});
}

void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number) {
  const std::string name = text("sizes-", number);
  dumps.hand_over("claims", name, [&] { return print_library_calls(bound); });
  dumps.hand_over("memory_plan", name, [&] { return print_memory(program, bound); });
}

}  // namespace kiln::codegen
