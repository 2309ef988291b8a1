// The parallel region: the last steps of a plan, which do not depend on each other.
//
// Before: kernel %4 = .. (a result); matmul %5 = ..; kernel %6 = .. %5 (a result)
// After:  matmul %5 = ..; region { kernel %4 = ..; kernel %6 = .. %5 }
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Moves kernels that cannot fail and whose results no step reads behind the other steps, where
/// they form the plan's region and run in parallel. Typically these are the updates of a training
/// step: after all steps that can fail, they may overwrite old values (buffer_aliasing.h). Copies
/// to results that no step reads stay last. Row updates with such results become one step, the last
/// before the region.
void find_region(Plan& plan, const BuiltKernels& kernels);

}  // namespace kiln::codegen
