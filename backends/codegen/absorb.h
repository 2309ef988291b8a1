// What a product does on its way instead of a kernel after it: a bias for each column, relu.
#pragma once

#include "backends/codegen/plan.h"

namespace kiln::codegen {

/// Removes the kernels of the plan that do no more than that to the result of a product which
/// nobody else reads; the product takes the kernel's place. `kernels`: those of its steps.
void absorb_kernels(Plan& plan, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
