// The memory of a bound plan and of its steps, in the form that
// backends/codegen/bind plans and reports.
#pragma once

#include "backends/codegen/host/bind/bound_plan.h"
#include "core/types/text.h"

namespace kiln::codegen {

/// Scratch, spare carries, packed operands and arenas of bodies, in the order of steps. The offsets
/// to assign are members of `bound.steps`.
List<StepMemory> step_memory(BoundPlan& bound, std::pmr::memory_resource* scratch);

/// Borrows from `bound`. One body represents all groups of rows of a loop, as they are alike.
PlanMemory memory_of(const BoundPlan& bound);

/// Calls visit(name, body) for the bodies that memory_of() lists.
template <class Visit>
void for_each_body(const BoundStep& step, const Visit& visit) {
  if (const auto* branch = std::get_if<BoundBranch>(&step)) {
    visit("then", *branch->bodies.plans[0]);
    visit("else", *branch->bodies.plans[1]);
  }
  const BoundLoop* const loop = loop_of(step);
  if (!loop) return;
  const std::size_t groups = loop->bodies.plans.size();
  visit(groups > 1 ? text("body for the first of ", groups, " groups of rows") : "body",
        *loop->bodies.plans[0]);
}

}  // namespace kiln::codegen
