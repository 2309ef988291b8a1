// Elementwise functions. Operands broadcast as those of operators (tensor.h); a number takes the
// dtype of the other operand if that is a tensor, else floatx(). A floating-point number beside an
// integer or bool tensor is a TypeError: cast the tensor. Functions keep the dtype, do not convert
// implicitly, and throw TypeError for dtypes that they do not take: bool where numbers are
// required. Formulas: Keras 2.2.5 unless stated otherwise.
#pragma once

#include <kiln/optional_operand.h>

namespace kiln {

/// Returns the square x * x. x: numbers.
///     const auto x = K::constant({-2., 3.});
///     K::eval(K::square(x));  // [4. 9.]
KILN_API Tensor square(const Operand& x);
/// Returns the absolute value |x|. x: numbers. The gradient at 0 is 0.
///     const auto x = K::constant({-2., 3.});
///     K::eval(K::abs(x));  // [2. 3.]
KILN_API Tensor abs(const Operand& x);
/// Returns the square root of max(x, 0): 0, not NaN, for negative x. x: floating point. The
/// gradient is 0 where x <= 0.
///     const auto x = K::constant({-1., 4.});
///     K::eval(K::sqrt(x));  // [0. 2.]
KILN_API Tensor sqrt(const Operand& x);
/// Returns the exponential function e^x. x: floating point.
///     const auto x = K::constant({0., 1.});
///     K::eval(K::exp(x));  // [1. 2.7182817]
KILN_API Tensor exp(const Operand& x);
/// Returns the natural logarithm: -inf at 0, NaN below 0. x: floating point.
///     const auto x = K::constant({0., 1.});
///     K::eval(K::log(x));  // [-inf 0.]
KILN_API Tensor log(const Operand& x);
/// Rounds to the nearest integer, ties to even: 0.5 gives 0, 1.5 and 2.5 give 2. x: numbers;
/// integers are unchanged. No gradient.
///     const auto x = K::constant({0.5, 1.5, 2.5});
///     K::eval(K::round(x));  // [0. 2. 2.]
KILN_API Tensor round(const Operand& x);
/// Rounds down, to the largest integer <= x. x: numbers; integers are unchanged. No gradient.
/// Meaning: NumPy's floor, but the dtype of integers is kept.
///     const auto x = K::constant({-1.5, 1.5});
///     K::eval(K::floor(x));  // [-2. 1.]
KILN_API Tensor floor(const Operand& x);
/// Rounds up, to the smallest integer >= x; -0 for -1 < x <= -0. Otherwise as floor.
///     const auto x = K::constant({-1.5, 1.5});
///     K::eval(K::ceil(x));  // [-1. 2.]
KILN_API Tensor ceil(const Operand& x);
/// Returns the sign of x: -1, 0 or 1. x: numbers. No gradient.
///     const auto x = K::constant({-2., 0., 3.});
///     K::eval(K::sign(x));  // [-1. 0. 1.]
KILN_API Tensor sign(const Operand& x);
/// Returns the sine of x in radians. x: floating point.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::sin(x));  // [0. 0.47942555]
KILN_API Tensor sin(const Operand& x);
/// Returns the cosine of x in radians. x: floating point.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::cos(x));  // [1. 0.87758255]
KILN_API Tensor cos(const Operand& x);
/// Returns the error function, 2 / sqrt(pi) times the integral of e^(-t^2) for t from 0 to x:
/// between -1 and 1. x: floating point. Meaning: Keras 3.5's ops.erf.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::erf(x));  // [0. 0.5204999]
KILN_API Tensor erf(const Operand& x);

/// Returns x to the power a; x^0 is 1. x, a: numbers of one dtype. Integers wrap; for them a
/// negative exponent gives 0, except for bases 1 and -1. The gradient with respect to a is 0 where
/// x <= 0.
/// Errors: ValueError if shapes do not broadcast; TypeError for different dtypes or bool.
///     const auto x = K::constant({2., 3.});
///     K::eval(K::pow(x, 2));  // [4. 9.]
KILN_API Tensor pow(const Operand& x, const Operand& a);

/// Returns the remainder x - floor(x / y) y, which has the sign of y, 0 included. x, y: numbers of
/// one dtype. x mod 0 is 0 for integers and NaN for floats; a finite x mod an infinite y is x if
/// their signs agree or x is 0, else y. The gradient is 1 for x and -floor(x / y) for y. Meaning:
/// NumPy's mod.
/// Errors: those of pow.
///     const auto x = K::constant({-7., 7.});
///     K::eval(K::mod(x, 3));  // [2. 1.]
KILN_API Tensor mod(const Operand& x, const Operand& y);

/// Clips x to [min_value, max_value]; the result is min_value where max_value < min_value. Numbers
/// of one dtype; None is no bound, tensors broadcast. The gradient flows to x where min_value <= x
/// <= max_value.
/// Errors: those of pow.
///     const auto x = K::constant({-1., 0.5, 2.});
///     K::eval(K::clip(x, 0, 1));  // [0. 0.5 1. ]
KILN_API Tensor clip(const Operand& x, const OptionalOperand& min_value,
                     const OptionalOperand& max_value);

/// Returns elementwise, as bool, whether x == y; false for NaN. x, y: any one dtype.
/// Errors: ValueError if shapes do not broadcast; TypeError for different dtypes.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::equal(x, y));  // [False True]
KILN_API Tensor equal(const Operand& x, const Operand& y);
/// Returns elementwise, as bool, whether x != y; true for NaN. Otherwise as equal.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::not_equal(x, y));  // [ True False]
KILN_API Tensor not_equal(const Operand& x, const Operand& y);
/// Returns elementwise, as bool, whether x > y; false for NaN. For bools, false < true. Otherwise
/// as equal.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::greater(x, y));  // [False False]
KILN_API Tensor greater(const Operand& x, const Operand& y);
/// Returns elementwise, as bool, whether x >= y; false for NaN. Otherwise as greater.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::greater_equal(x, y));  // [False True]
KILN_API Tensor greater_equal(const Operand& x, const Operand& y);
/// Returns elementwise, as bool, whether x < y; false for NaN. Otherwise as greater.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::less(x, y));  // [ True False]
KILN_API Tensor less(const Operand& x, const Operand& y);
/// Returns elementwise, as bool, whether x <= y; false for NaN. Otherwise as greater.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::less_equal(x, y));  // [ True True]
KILN_API Tensor less_equal(const Operand& x, const Operand& y);

/// Returns elementwise whether x and y are both true. x, y: bool; a number is true or false. No
/// gradient. Also x && y.
/// Errors: TypeError for another dtype (not_equal(x, 0) gives bool); ValueError if shapes do not
/// broadcast.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::logical_and(x < y, y > 0));  // [ True False]
KILN_API Tensor logical_and(const Operand& x, const Operand& y);
/// Returns elementwise whether x or y is true, or both. Also x || y. Otherwise as logical_and.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::logical_or(x < y, y < 0));  // [ True False]
KILN_API Tensor logical_or(const Operand& x, const Operand& y);
/// Returns elementwise whether exactly one of x and y is true. Otherwise as logical_and.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::logical_xor(x < y, y > 0));  // [False True]
KILN_API Tensor logical_xor(const Operand& x, const Operand& y);
/// Returns elementwise whether x is false. Also !x. Otherwise as logical_and.
///     const auto x = K::constant({1., 2.}), y = K::constant({2., 2.});
///     K::eval(K::logical_not(x < y));  // [False True]
KILN_API Tensor logical_not(const Operand& x);

/// Returns x where the condition is true, else y. condition: bool, or a number, which is true or
/// false; x, y: any one dtype. All three broadcast. The result and the gradient do not depend on
/// entries that are not chosen, not even on NaN: their cotangent is 0. The 0 still meets the
/// derivative of what computed them, and 0 times an infinite one is NaN: where(x > 0, log(x), 0)
/// needs log(maximum(x, 1e-6)). Meaning: NumPy's where of three arguments; there, conditions may be
/// numbers.
/// Errors: TypeError for a condition that is not bool and for different dtypes of x and y;
/// ValueError if shapes do not broadcast.
///     const auto x = K::constant({-1., 2.});
///     K::eval(K::where(x > 0, x, 0));  // [0. 2.]
KILN_API Tensor where(const Operand& condition, const Operand& x, const Operand& y);

/// Returns the larger of x and y, elementwise; NaN if either is NaN. At a tie the gradient flows
/// to x.
/// Errors: those of pow.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::maximum(x, 1.5));  // [1.5 2. ]
KILN_API Tensor maximum(const Operand& x, const Operand& y);
/// Returns the smaller of x and y, elementwise; NaN if either is NaN. At a tie the gradient flows
/// to x.
/// Errors: those of pow.
///     const auto x = K::constant({1., 2.});
///     K::eval(K::minimum(x, 1.5));  // [1. 1.5]
KILN_API Tensor minimum(const Operand& x, const Operand& y);

}  // namespace kiln
