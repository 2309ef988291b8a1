// Reductions. Negative axes count from the end. Errors of all: ValueError for an axis that is out
// of range or repeated. Formulas: Keras 2.2.5.
#pragma once

#include <kiln/tensor.h>

#include <initializer_list>
#include <vector>

namespace kiln {

struct AxisOptions {
  Axes axis = None;       ///< the axes to reduce; None: all, {}: none
  Flag keepdims = false;  ///< keep the reduced axes with size 1
};
struct ArgmaxOptions {
  WholeNumber axis = -1;  ///< the axis to search
};
struct CumulateOptions {
  WholeNumber axis = 0;  ///< the axis to accumulate along
};

/// Returns the maximum over the axes, in the dtype of x; NaN if an element is NaN. x: any dtype.
/// Over no elements: the lowest value of the dtype. Tied elements share the gradient equally.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::max(x));  // 4.0
KILN_API Tensor max(const Operand& x, const AxisOptions& options = {});
/// Returns the minimum over the axes, in the dtype of x; NaN if an element is NaN. x: any dtype.
/// Over no elements: the highest value of the dtype. Tied elements share the gradient equally.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::min(x, {.axis = 0}));  // [1. 2.]
KILN_API Tensor min(const Operand& x, const AxisOptions& options = {});
/// Returns the sum over the axes, in the dtype of x. 0 over no elements. Errors: TypeError for
/// bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::sum(x, {.axis = -1, .keepdims = true}));  // [[3.] [7.]]
KILN_API Tensor sum(const Operand& x, const AxisOptions& options = {});
/// Returns the product over the axes, in the dtype of x. 1 over no elements. The gradient is right
/// for elements that are 0, too.
/// Errors: TypeError for bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::prod(x));  // 24.0
KILN_API Tensor prod(const Operand& x, const AxisOptions& options = {});
/// Returns the product of a list of tensors, stacked along a new axis 0. They have one shape and
/// dtype.
/// Errors: ValueError for an empty list and different shapes; TypeError for different dtypes.
///     const auto x = K::constant(2), y = K::constant(3);
///     K::eval(K::prod({x, y}));  // 6.0
KILN_API Tensor prod(const std::vector<Tensor>& x, const AxisOptions& options = {},
                     Where where = Where::here());
KILN_API Tensor prod(std::initializer_list<Tensor> x, const AxisOptions& options = {},
                     Where where = Where::here());

/// Returns the mean over the axes. Integers and bools are cast to floatx() first. NaN over no
/// elements.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::mean(x, {.axis = 1}));  // [1.5 3.5]
KILN_API Tensor mean(const Operand& x, const AxisOptions& options = {});
/// Returns the population variance mean((x - mean(x))^2) over the axes. Dtypes: as for mean.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::var(x));  // 1.25
KILN_API Tensor var(const Operand& x, const AxisOptions& options = {});
/// Returns the standard deviation over the axes, the square root of var. The gradient is 0 where it
/// is 0.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::std(x, {.axis = 0}));  // [1. 1.]
KILN_API Tensor std(const Operand& x, const AxisOptions& options = {});

/// Returns whether any element is not 0, over the axes, as bool. x: any dtype; NaN is not 0. Over
/// no elements: false.
///     const auto x = K::constant({0., 2.});
///     K::eval(K::any(x));  // True
KILN_API Tensor any(const Operand& x, const AxisOptions& options = {});
/// Returns whether no element is 0, over the axes, as bool. x: any dtype; NaN is not 0. Over no
/// elements: true.
///     const auto x = K::constant({0., 2.});
///     K::eval(K::all(x));  // False
KILN_API Tensor all(const Operand& x, const AxisOptions& options = {});

/// Returns the index of the first maximum along the axis, as int64. The axis is dropped. NaN counts
/// as the maximum. No gradient.
/// Errors: ValueError for an axis without elements.
///     const auto x = K::constant({1., 5., 5.});
///     K::eval(K::argmax(x));  // 1
KILN_API Tensor argmax(const Operand& x, const ArgmaxOptions& options = {});
/// Returns the index of the first minimum along the axis, as int64. The axis is dropped. NaN counts
/// as the minimum. No gradient.
/// Errors: those of argmax.
///     const auto x = K::constant({1., 5., 5.});
///     K::eval(K::argmin(x));  // 0
KILN_API Tensor argmin(const Operand& x, const ArgmaxOptions& options = {});

/// Returns the cumulative sum along the axis, with the shape and dtype of x: y[i] is the sum of
/// x[0] to x[i].
/// Errors: TypeError for bool.
///     const auto x = K::constant({1., 2., 3.});
///     K::eval(K::cumsum(x));  // [1. 3. 6.]
KILN_API Tensor cumsum(const Operand& x, const CumulateOptions& options = {});
/// Returns the cumulative product along the axis, with the shape and dtype of x: y[i] is the
/// product of x[0] to x[i].
/// Errors: TypeError for bool.
///     const auto x = K::constant({1., 2., 3.});
///     K::eval(K::cumprod(x));  // [1. 2. 6.]
KILN_API Tensor cumprod(const Operand& x, const CumulateOptions& options = {});

/// Returns log(sum(exp(x))) over the axes, computed without overflow. -inf, with a gradient of 0,
/// if all elements are -inf or there are none.
/// Errors: TypeError unless x is floating point.
///     const auto x = K::constant({1e4, 1e-4});
///     K::eval(K::logsumexp(x));  // 10000.0
KILN_API Tensor logsumexp(const Operand& x, const AxisOptions& options = {});

}  // namespace kiln
