// Formulas that several K functions share. Their gradients are finite wherever the function is: the
// operand of an op with a pole is replaced, not its result, since 0 * inf is NaN.
#pragma once

#include "core/k/base/tensor_impl.h"
#include "core/ops/halves.h"

namespace kiln {

/// sqrt(max(x, 0)), NaN for NaN. The gradient is 0 where x <= 0.
ir::Value sqrt_or_zero(const ir::Value& x);
/// max(min(x, high), low). The gradient passes where low <= x <= high.
ir::Value clipped(const ir::Value& x, const ir::Value& low, const ir::Value& high);
ir::Value clipped(const ir::Value& x, double low, double high);
/// max(x, 0), NaN for NaN. The gradient at 0 is 0.
ir::Value positive_part(const ir::Value& x);
/// log(1 + exp(-|x|)). positive_part(x) + log1p_exp_of_minus_abs(x) is softplus, with gradients of
/// every order that are right at 0, too.
ir::Value log1p_exp_of_minus_abs(const ir::Value& x);

/// The result of reducing x along `axes`, with these axes restored as 1s (keepdims).
ir::Value with_ones(const ir::Value& reduced, const ir::Value& x, const ir::Ints& axes);
/// Repeats each element of an axis `count` times (numpy.repeat).
ir::Value repeated_along(const ir::Value& x, int axis, const ir::Dim& count);
/// Picks one element of the last axis of x per index; 0 for an index out of range. `indices`:
/// integers with the dims of x without the last axis.
ir::Value pick_last(const ir::Value& x, const ir::Value& indices);

}  // namespace kiln
