// Formulas that several K functions share. Their gradients stay finite wherever the function does:
// the operand of an op with a pole is replaced, not its result, because 0 * inf is NaN.
#pragma once

#include "core/k/frame/tensor_impl.h"

namespace kiln {

/// x, or float32 of x when x is a float16 or bfloat16: sums and small constants need the range.
ir::Value widened(const ir::Value& x);
/// sqrt(x) for x > 0, else 0 (NaN stays). The gradient is 0 where x <= 0.
ir::Value sqrt_or_zero(const ir::Value& x);
/// max(min(x, high), low). The gradient passes where low <= x <= high.
ir::Value clipped(const ir::Value& x, const ir::Value& low, const ir::Value& high);
ir::Value clipped(const ir::Value& x, double low, double high);
/// x for x > 0, else 0 (NaN stays); the gradient at 0 is 0.
ir::Value positive_part(const ir::Value& x);
/// log(1 + exp(-|x|)). positive_part(x) + log1p_exp_of_minus_abs(x) is softplus, whose gradients
/// of every order are right at 0, too.
ir::Value log1p_exp_of_minus_abs(const ir::Value& x);

/// `reduced` with the dropped `axes` of x put back as 1s.
ir::Value with_ones(const ir::Value& reduced, const ir::Value& x, const ir::Ints& axes);
/// Each element of an axis `count` times in a row.
ir::Value repeated_along(const ir::Value& x, int axis, const ir::Dim& count);
/// The element of the last axis of x at each index (integers of x's dims without it), 0 where the
/// index is outside.
ir::Value pick_last(const ir::Value& x, const ir::Value& indices);

}  // namespace kiln
