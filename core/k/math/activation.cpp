// Activation functions, by formulas whose gradients are right at kinks, too.
// formulas_impl.h has those that several files share.
#include <kiln/activation.h>

#include "core/k/math/formulas_impl.h"

#include <cmath>
#include <numbers>

namespace kiln {
namespace {

using ir::Op;
using ir::Value;

/// A numeric option as a value with the dtype and dims of x. Options are doubles, so that whole
/// ones fit integers.
Value option(double number, const Value& x, const char* argument) {
  const bool is_whole = std::trunc(number) == number && std::abs(number) < 0x1p63;
  const Operand operand = is_whole && !is_float(x.dtype())
                              ? Operand(static_cast<std::int64_t>(number))
                              : Operand(number);
  return ir::broadcast_to(value_of(operand, x.dtype(), argument), x.dims());
}

/// The part below the threshold.
Value sloped(const Value& x, const ReluOptions& options) {
  if (options.alpha == 0) return ir::zeros_like(x);  // 0 * -inf would be NaN
  const Value alpha = option(options.alpha, x, "alpha");
  if (options.threshold == 0) return x * alpha;
  return (x - option(options.threshold, x, "threshold")) * alpha;
}

/// The part above the threshold: x, clipped to [0, max_value] if that is given.
Value bounded(const Value& x, const ReluOptions& options) {
  if (!options.max_value) return x;
  const double highest = *options.max_value < 0 ? 0 : *options.max_value;  // NaN stays
  const Value below = ir::binary(Op::Minimum, x, option(highest, x, "max_value"));
  // With a threshold of 0 or more, this part is not negative.
  return options.threshold < 0 ? ir::binary(Op::Maximum, below, ir::zeros_like(x)) : below;
}

constexpr double kSqrtHalf = 1 / std::numbers::sqrt2;

/// An approximation of erf(x / sqrt(2)), Hendrycks and Gimpel (2016). Beyond 10 it is 1 in every
/// dtype; without the bound, x^3 would overflow and the gradient be 0 * inf.
Value tanh_for_erf(const Value& x) {
  const Value inner = clipped(x, -10, 10);
  const Value polynomial = inner + inner * inner * inner * 0.044715;
  return ir::unary(Op::Tanh, polynomial * (2 * kSqrtHalf * std::numbers::inv_sqrtpi));
}

}  // namespace

Tensor relu(const Operand& x, const ReluOptions& options) {
  return api_call("relu", x.where(), [&] {
    const Value value = number_of(x);
    const Value threshold = option(options.threshold, value, "threshold");
    // At a threshold of 0 both parts agree, and the gradient is that of the lower one.
    const Value below =
        options.threshold == 0 ? ir::less_equal_to(value, threshold) : ir::less(value, threshold);
    return wrap(ir::select(below, sloped(value, options), bounded(value, options)));
  });
}

Tensor elu(const Operand& x, const EluOptions& options) {
  return api_call("elu", x.where(), [&] {
    const Value value = float_of(x);
    const Value zero = ir::zeros_like(value);
    const Value below = ir::less_equal_to(value, zero);
    const Value curve = ir::unary(Op::Expm1, ir::select(below, value, zero)) * options.alpha;
    return wrap(ir::select(below, curve, value));
  });
}

Tensor gelu(const Operand& x, const GeluOptions& options) {
  return api_call("gelu", x.where(), [&] {
    const Value original = float_of(x);
    const Value value = widened(original);
    const Value twice_cdf =
        1.0 + (options.approximate ? tanh_for_erf(value) : ir::unary(Op::Erf, value * kSqrtHalf));
    return wrap(ir::cast(value * 0.5 * twice_cdf, original.dtype()));
  });
}

Tensor softmax(const Operand& x, const SoftmaxOptions& options) {
  return api_call("softmax", x.where(), [&] {
    const Value value = float_of(x);
    return wrap(ir::softmax(value, axis_of(options.axis, value.rank())));
  });
}

Tensor log_softmax(const Operand& x, const SoftmaxOptions& options) {
  return api_call("log_softmax", x.where(), [&] {
    const Value value = float_of(x);
    return wrap(ir::log_softmax(value, axis_of(options.axis, value.rank())));
  });
}

Tensor softplus(const Operand& x) {
  return api_call("softplus", x.where(), [&] {
    const Value value = float_of(x);
    return wrap(positive_part(value) + log1p_exp_of_minus_abs(value));
  });
}

Tensor softsign(const Operand& x) {
  return api_call("softsign", x.where(), [&] {
    const Value value = float_of(x);
    return wrap(value / (ir::unary(Op::Abs, value) + 1.0));
  });
}

Tensor sigmoid(const Operand& x) {
  return api_call("sigmoid", x.where(), [&] { return wrap(ir::unary(Op::Sigmoid, float_of(x))); });
}

Tensor tanh(const Operand& x) {
  return api_call("tanh", x.where(), [&] { return wrap(ir::unary(Op::Tanh, float_of(x))); });
}

Tensor hard_sigmoid(const Operand& x) {
  return api_call("hard_sigmoid", x.where(),
                  [&] { return wrap(clipped(float_of(x) * 0.2 + 0.5, 0, 1)); });
}

Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options) {
  return api_call("l2_normalize", x.where(), [&] {
    const Value original = float_of(x);
    const Value value = widened(original);
    const ir::Ints axes = axes_of(options.axis, value.rank());
    const Value sum = ir::reduce_sum(value * value, axes);
    const Value norm = ir::unary(Op::Sqrt, ir::binary(Op::Maximum, sum, ir::like(sum, 1e-12)));
    const Value result = value / ir::broadcast_over(norm, value.dims(), axes);
    return wrap(ir::cast(result, original.dtype()));
  });
}

}  // namespace kiln
