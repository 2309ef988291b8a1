// Lifetimes of the tensors of a plan, for memory planning.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// The first and the last step, by number, that use a slot; -1: no step does.
struct Lifetime {
  int first = -1, last = -1;
};
/// One for each slot of the plan. Results of the opening live at least until its end: its steps run
/// in any order.
IdVector<SlotId, Lifetime> lifetimes(const Plan& plan, const BuiltKernels& kernels);

}  // namespace kiln::codegen
