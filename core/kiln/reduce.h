// Reductions: group E of the K functions. An axis may be negative (counted from the end).
// Formulas: Keras 2.2.5. Errors of all: ValueError for an axis that is out of range or repeated.
#pragma once

#include <kiln/tensor.h>

#include <initializer_list>
#include <vector>

namespace kiln {

struct AxisOptions {
  Axes axis = {};         ///< one axis or several; unset: all
  bool keepdims = false;  ///< keep the reduced axes with size 1
};
struct ArgmaxOptions {
  int axis = -1;
};
struct CumulateOptions {
  int axis = 0;
};

/// The largest (smallest) element; NaN when one is. Any dtype. Over nothing: the lowest (highest)
/// value of the dtype. The gradient is divided equally among tied elements.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::max(x));  // 4.0
///     K::eval(K::min(x, {.axis = 0}));  // [1. 2.]
KILN_API Tensor max(const Operand& x, const AxisOptions& options = {});
KILN_API Tensor min(const Operand& x, const AxisOptions& options = {});
/// The sum (0 over nothing), in the dtype of x. Errors: TypeError for bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::sum(x, {.axis = -1, .keepdims = true}));  // [[3.] [7.]]
KILN_API Tensor sum(const Operand& x, const AxisOptions& options = {});
/// The product (1 over nothing), in the dtype of x. Its gradient is right where elements are 0.
/// Errors: TypeError for bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::prod(x));  // 24.0
KILN_API Tensor prod(const Operand& x, const AxisOptions& options = {});
/// The product of the tensors of a list, which have one type, stacked along a new axis 0.
/// Errors: ValueError for an empty list.
///     const auto x = K::constant(2), y = K::constant(3);
///     K::eval(K::prod({x, y}));  // 6.0
KILN_API Tensor prod(const std::vector<Tensor>& x, const AxisOptions& options = {},
                     Where where = Where::here());
KILN_API Tensor prod(std::initializer_list<Tensor> x, const AxisOptions& options = {},
                     Where where = Where::here());

/// The mean; integers and bools are cast to floatx() first. NaN over nothing.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::mean(x, {.axis = 1}));  // [1.5 3.5]
KILN_API Tensor mean(const Operand& x, const AxisOptions& options = {});
/// The variance of the population, mean((x - mean(x))^2); dtypes as for mean.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::var(x));  // 1.25
KILN_API Tensor var(const Operand& x, const AxisOptions& options = {});
/// The square root of var. Its gradient is 0 where var is 0.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::std(x, {.axis = 0}));  // [1. 1.]
KILN_API Tensor std(const Operand& x, const AxisOptions& options = {});

/// Whether any (all) elements are not 0, as bool. Any dtype; NaN is not 0. Over nothing: false
/// (true).
///     const auto x = K::constant({0., 2.});
///     K::eval(K::any(x));  // True
///     K::eval(K::all(x));  // False
KILN_API Tensor any(const Operand& x, const AxisOptions& options = {});
KILN_API Tensor all(const Operand& x, const AxisOptions& options = {});

/// The index of the first largest (smallest) element along the axis, which is dropped, as int64. A
/// NaN counts as the extreme. No gradient. Errors: ValueError for an axis without elements.
///     const auto x = K::constant({1., 5., 5.});
///     K::eval(K::argmax(x));  // 1
///     K::eval(K::argmin(x));  // 0
KILN_API Tensor argmax(const Operand& x, const ArgmaxOptions& options = {});
KILN_API Tensor argmin(const Operand& x, const ArgmaxOptions& options = {});

/// y[i] = x[0] + ... + x[i] along the axis (times, for cumprod), in the shape and dtype of x.
/// Errors: TypeError for bool.
///     const auto x = K::constant({1., 2., 3.});
///     K::eval(K::cumsum(x));  // [1. 3. 6.]
///     K::eval(K::cumprod(x));  // [1. 2. 6.]
KILN_API Tensor cumsum(const Operand& x, const CumulateOptions& options = {});
KILN_API Tensor cumprod(const Operand& x, const CumulateOptions& options = {});

/// log(sum(exp(x))) without overflow; -inf where all elements are -inf or there are none (the
/// gradient is 0 there). Errors: TypeError unless floating point.
///     const auto x = K::constant({1e4, 1e-4});
///     K::eval(K::logsumexp(x));  // 10000.0
KILN_API Tensor logsumexp(const Operand& x, const AxisOptions& options = {});

}  // namespace kiln
