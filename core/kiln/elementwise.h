// Elementwise functions: group F of the K functions. Two operands broadcast as NumPy's do; a number
// adopts the dtype of the tensor beside it (alone, it is a scalar of floatx()). Functions that
// demand floating point throw TypeError for other dtypes; there is no implicit conversion.
// Formulas: Keras 2.2.5, where nothing else is said.
#pragma once

#include <kiln/optional_operand.h>

namespace kiln {

/// x * x; numbers.
///     const auto x = K::constant({-2., 3.});
///     K::eval(K::square(x));  // [4. 9.]
KILN_API Tensor square(const Operand& x);
/// |x|; numbers. The gradient at 0 is 0.
///     const auto x = K::constant({-2., 3.});
///     K::eval(K::abs(x));  // [2. 3.]
KILN_API Tensor abs(const Operand& x);
/// The square root of max(x, 0): 0 for negative x, not NaN. The gradient is 0 where x <= 0.
/// Floating point.
///     const auto x = K::constant({-1., 4.});
///     K::eval(K::sqrt(x));  // [0. 2.]
KILN_API Tensor sqrt(const Operand& x);
/// e^x. Floating point.
///     const auto x = K::constant({0., 1.});
///     K::eval(K::exp(x));  // [1. 2.7182817]
KILN_API Tensor exp(const Operand& x);
/// The natural logarithm: -inf at 0, NaN below. Floating point.
///     const auto x = K::constant({0., 1.});
///     K::eval(K::log(x));  // [-inf 0.]
KILN_API Tensor log(const Operand& x);
/// The nearest integer, half to even: 0.5 gives 0, 1.5 and 2.5 give 2. Numbers; integers stay.
/// No gradient.
///     const auto x = K::constant({0.5, 1.5, 2.5});
///     K::eval(K::round(x));  // [0. 2. 2.]
KILN_API Tensor round(const Operand& x);
/// -1, 0 or 1; numbers. No gradient.
///     const auto x = K::constant({-2., 0., 3.});
///     K::eval(K::sign(x));  // [-1. 0. 1.]
KILN_API Tensor sign(const Operand& x);
/// The sine (cosine) of x in radians. Floating point.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::sin(x));  // [0. 0.47942555]
///     K::eval(K::cos(x));  // [1. 0.87758255]
KILN_API Tensor sin(const Operand& x);
KILN_API Tensor cos(const Operand& x);

/// x to the power a; x^0 is 1. Numbers; integers wrap, and a negative exponent gives 0 for them,
/// except for the bases 1 and -1. The gradient with respect to a is 0 where x <= 0.
///     const auto x = K::constant({2., 3.});
///     K::eval(K::pow(x, 2));  // [4. 9.]
KILN_API Tensor pow(const Operand& x, const Operand& a);

/// x with elements below min_value raised to it and those above max_value lowered to it; where
/// max_value < min_value the result is min_value. Numbers; tensors broadcast. The gradient with
/// respect to x passes where min_value <= x <= max_value.
///     const auto x = K::constant({-1., 0.5, 2.});
///     K::eval(K::clip(x, 0, 1));  // [0. 0.5 1. ]
KILN_API Tensor clip(const Operand& x, const OptionalOperand& min_value,
                     const OptionalOperand& max_value);

/// Comparisons give bool: with NaN all are false but not_equal. less and its kin order bools, too.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::equal(x, y));  // [False True]
///     K::eval(K::not_equal(x, y));  // [ True False]
///     K::eval(K::greater(x, y));  // [False False]
///     K::eval(K::greater_equal(x, y));  // [False True]
///     K::eval(K::less(x, y));  // [ True False]
///     K::eval(K::less_equal(x, y));  // [ True True]
KILN_API Tensor equal(const Operand& x, const Operand& y);
KILN_API Tensor not_equal(const Operand& x, const Operand& y);
KILN_API Tensor greater(const Operand& x, const Operand& y);
KILN_API Tensor greater_equal(const Operand& x, const Operand& y);
KILN_API Tensor less(const Operand& x, const Operand& y);
KILN_API Tensor less_equal(const Operand& x, const Operand& y);

/// The larger (smaller) of two numbers, NaN when either is. At a tie the gradient goes to x.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::maximum(x, 1.5));  // [1.5 2. ]
///     K::eval(K::minimum(x, 1.5));  // [1. 1.5]
KILN_API Tensor maximum(const Operand& x, const Operand& y);
KILN_API Tensor minimum(const Operand& x, const Operand& y);

}  // namespace kiln
