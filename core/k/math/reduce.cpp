// Reductions. Means and variances are computed in float32 or wider.
#include <kiln/reduce.h>

#include "core/k/math/formulas_impl.h"

#include <kiln/shape_ops.h>

#include <limits>

namespace kiln {
namespace {

using ir::Ints;
using ir::Op;
using ir::Value;

Tensor finish(const Value& reduced, const Value& x, const Ints& axes, bool keepdims) {
  return wrap(keepdims ? with_ones(reduced, x, axes) : reduced);
}

Tensor reduced(const Value& x, Op op, const AxisOptions& options) {
  const Ints axes = axes_of(options.axis, x.rank());
  return finish(ir::reduce(op, x, axes), x, axes, options.keepdims);
}

/// The input of a mean: integers and bools are cast to floatx().
Value averaged_input(const Operand& x) {
  const Value value = input_of(x);
  return is_float(value.dtype()) ? value : ir::cast(value, floatx_dtype());
}

/// Reverses the order of x, without overflow: -1 - x for integers.
Value reversed_order(const Value& x) {
  if (is_float(x.dtype())) return -x;
  if (x.dtype() == DType::Bool) return ir::logical_not(x);
  return ir::broadcast_to(ir::scalar_constant_int(x.dtype(), -1), x.dims()) - x;
}

Tensor arg_max(const Value& x, const ArgmaxOptions& options) {
  const int axis = axis_of(options.axis, x.rank());
  return wrap(ir::make(Op::ArgMax, ir::AxisAttrs{axis}, {x}));
}

Tensor cumulated(const char* function, Op op, const Operand& x, const CumulateOptions& options) {
  return api_call(function, x.where(), [&] {
    const Value value = number_of(x);
    return wrap(ir::make(op, ir::AxisAttrs{axis_of(options.axis, value.rank())}, {value}));
  });
}

}  // namespace

Tensor max(const Operand& x, const AxisOptions& options) {
  return api_call("max", x.where(), [&] { return reduced(input_of(x), Op::Max, options); });
}

Tensor min(const Operand& x, const AxisOptions& options) {
  return api_call("min", x.where(), [&] { return reduced(input_of(x), Op::Min, options); });
}

Tensor sum(const Operand& x, const AxisOptions& options) {
  return api_call("sum", x.where(), [&] { return reduced(number_of(x), Op::Sum, options); });
}

Tensor prod(const Operand& x, const AxisOptions& options) {
  return api_call("prod", x.where(), [&] { return reduced(number_of(x), Op::Prod, options); });
}

Tensor prod(const std::vector<Tensor>& x, const AxisOptions& options, Where where) {
  return api_call("prod", where, [&] {
    const Operand stacked(stack(x, {}, where), where);
    return prod(stacked, {.axis = options.axis, .keepdims = options.keepdims});
  });
}

Tensor prod(std::initializer_list<Tensor> x, const AxisOptions& options, Where where) {
  return translate_exceptions("prod", where,
                              [&] { return prod(std::vector<Tensor>(x), options, where); });
}

Tensor mean(const Operand& x, const AxisOptions& options) {
  return api_call("mean", x.where(), [&] {
    const Value value = averaged_input(x);
    const Ints axes = axes_of(options.axis, value.rank());
    const Value result = ir::cast(ir::reduce_mean(widened(value), axes), value.dtype());
    return finish(result, value, axes, options.keepdims);
  });
}

Tensor var(const Operand& x, const AxisOptions& options) {
  return api_call("var", x.where(), [&] {
    const Value value = averaged_input(x);
    const Ints axes = axes_of(options.axis, value.rank());
    const Value result = ir::cast(ir::variance(widened(value), axes), value.dtype());
    return finish(result, value, axes, options.keepdims);
  });
}

Tensor std(const Operand& x, const AxisOptions& options) {
  return api_call("std", x.where(), [&] {
    const Value value = averaged_input(x);
    const Ints axes = axes_of(options.axis, value.rank());
    const Value result = sqrt_or_zero(ir::variance(widened(value), axes));
    return finish(ir::cast(result, value.dtype()), value, axes, options.keepdims);
  });
}

Tensor any(const Operand& x, const AxisOptions& options) {
  return api_call("any", x.where(),
                  [&] { return reduced(ir::cast(input_of(x), DType::Bool), Op::Max, options); });
}

Tensor all(const Operand& x, const AxisOptions& options) {
  return api_call("all", x.where(),
                  [&] { return reduced(ir::cast(input_of(x), DType::Bool), Op::Min, options); });
}

Tensor argmax(const Operand& x, const ArgmaxOptions& options) {
  return api_call("argmax", x.where(), [&] { return arg_max(input_of(x), options); });
}

Tensor argmin(const Operand& x, const ArgmaxOptions& options) {
  return api_call("argmin", x.where(),
                  [&] { return arg_max(reversed_order(input_of(x)), options); });
}

Tensor cumsum(const Operand& x, const CumulateOptions& options) {
  return cumulated("cumsum", Op::CumSum, x, options);
}

Tensor cumprod(const Operand& x, const CumulateOptions& options) {
  return cumulated("cumprod", Op::CumProd, x, options);
}

Tensor logsumexp(const Operand& x, const AxisOptions& options) {
  return api_call("logsumexp", x.where(), [&] {
    const Value original = float_of(x);
    const Value value = widened(original);
    const Ints axes = axes_of(options.axis, value.rank());
    // Subtracts the largest element if it is finite; inf - inf would be NaN.
    const double infinity = std::numeric_limits<double>::infinity();
    const Value largest = ir::stop_gradient(ir::reduce_max(value, axes));
    const Value is_finite = ir::less(ir::unary(Op::Abs, largest), ir::like(largest, infinity));
    const Value shift = ir::select(is_finite, largest, ir::zeros_like(largest));
    const Value shifted = value - ir::broadcast_over(shift, value.dims(), axes);
    const Value total = ir::reduce_sum(ir::unary(Op::Exp, shifted), axes);
    // log(0) is replaced by a constant, so that its gradient is 0, not 0 / 0.
    const Value is_zero = ir::equal_to(total, ir::zeros_like(total));
    const Value log = ir::unary(Op::Log, ir::select(is_zero, ir::like(total, 1), total));
    const Value result = ir::select(is_zero, ir::like(total, -infinity), log + shift);
    return finish(ir::cast(result, original.dtype()), original, axes, options.keepdims);
  });
}

}  // namespace kiln
