// The rules of a plan: each tensor is written before it is read, and library steps stay within
// their tensors.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Throws InternalError naming the step and the tensor when a step reads a temporary or a result
/// before the last step that writes it, when nothing writes a result, when a library step has
/// another dtype than its tensors, or when its views or batch leave them. Bodies likewise.
/// `kernels`: those of the plan's program.
void verify(const Plan& plan, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
