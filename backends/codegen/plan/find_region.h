// Before: kernel %4 = .. (a result); matmul %5 = ..; kernel %6 = .. %5 (a result)
// After:  matmul %5 = ..; region { kernel %4 = ..; kernel %6 = .. %5 }
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Moves kernels that cannot fail and make results that no step reads behind the others: new values
/// of variables, which may overwrite the old ones once nothing can fail any more. They do not
/// depend on each other and become the plan's region, which runs in parallel; copies stay last.
/// Row updates with such results become one step, the last before the region.
void find_region(Plan& plan, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
