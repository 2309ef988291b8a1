// When the tensors of a plan are in use.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// The steps, by number, between which a slot is in use; -1 when no step touches it.
struct Lifetime {
  int first = -1, last = -1;
};
/// One per slot of the plan.
std::vector<Lifetime> lifetimes(const Plan& plan, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
