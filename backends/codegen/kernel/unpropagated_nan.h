// Finds maxima that need not propagate NaN.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each stage, whether it is a maximum m of x whose instructions may ignore NaN elements and
/// return a zero of either sign: every stored value keeps its bits, except for payloads of NaN. The
/// kernel sums exp(x - m), which is NaN if an element is; every stored value that depends on m is
/// arithmetic on that sum.
/// Example: y = exp(x - m) / sum of exp(x - m), softmax.
IdVector<StageId, bool> need_not_propagate_nan(const Kernel& kernel);

}  // namespace kiln::codegen
