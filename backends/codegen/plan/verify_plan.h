// Verifies the data flow of a plan and the extents of its strided views.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Throws InternalError, naming the step and the tensor, when a step reads a temporary or a result
/// before the last step that writes it, when nothing writes a result, when a library step has
/// another dtype than its tensors, or when its strided views or its batch exceed them. Checks
/// bodies, too. `kernels`: those of the plan's program.
void verify(const Plan& plan, const BuiltKernels& kernels);

}  // namespace kiln::codegen
