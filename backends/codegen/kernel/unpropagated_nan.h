// Finds maxima that need not propagate NaN.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each stage, whether it is a maximum m over x whose result may be any number where an element
/// of x is NaN, or a zero of either sign: the kernel sums exp(x - m), which is NaN there, and every
/// stored value that depends on m is arithmetic on that sum.
/// Example: y = exp(x - m) / sum of exp(x - m), softmax.
std::vector<bool> need_not_propagate_nan(const Kernel& kernel);

}  // namespace kiln::codegen
