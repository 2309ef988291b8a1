// Derives the signs of float expressions from the expressions that compute them.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each expression, whether it is a float and every value of it is <= 0, -0 or NaN.
/// Example: x - m, where m is the maximum over a row that holds x, as in softmax.
/// Depends on constants by their signs alone, so that kernels that differ in positive constants may
/// share code.
ExpressionFlags never_positive(const Kernel& kernel);

/// Whether the value of a Reduce stage is between 1 and 2^64, or NaN: the sum of exp(x - m), where
/// m is the maximum of x over the same points. One term is exp(0) = 1, and no term is above 1.
bool sums_shares(const Kernel& kernel, const Stage& stage);

}  // namespace kiln::codegen
