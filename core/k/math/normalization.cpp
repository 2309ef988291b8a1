// Batch normalization. Statistics and scale are combined at their own, smaller size before they are
// broadcast to x.
#include <kiln/normalization.h>

#include "core/k/math/formulas_impl.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

std::string both(const Value& x, const Value& part, const char* argument) {
  return text("(x ", x.type(), ", ", argument, " ", part.type(), ")");
}

void require_epsilon(double epsilon) {
  if (std::isfinite(epsilon) && epsilon >= 0) return;
  Call::value_error("epsilon", text("epsilon ", epsilon, " is negative or not finite"));
}

/// mean, var, beta or gamma. Throws TypeError unless it has the dtype of x.
Value part_of(const Operand& operand, const Value& x, const char* argument) {
  const Value part = value_of(operand, x.dtype(), argument);
  if (part.dtype() != x.dtype()) {
    Call::type_error(argument, text("x has dtype ", x.dtype(), " but ", argument, " has dtype ",
                                    part.dtype(), " ", both(x, part, argument)));
  }
  return widened(part);
}

/// A vector reshaped to broadcast along `axis` of x.
Value along(const Value& vector, const Value& x, int axis, const char* argument) {
  const ir::Dim& size = x.dims()[static_cast<std::size_t>(axis)];
  if (equal(vector.dims()[0], size) == ir::Ternary::No && !vector.dims()[0].is_one()) {
    Call::value_error(argument, text(argument, " has ", vector.dims()[0], " elements but axis ",
                                     axis, " of x has ", size, " ", both(x, vector, argument)));
  }
  Dims dims(x.dims().size(), 1);
  dims[static_cast<std::size_t>(axis)] = vector.dims()[0];
  return ir::reshape(vector, dims);
}

/// mean, var, beta or gamma, reshaped to broadcast to x.
Value broadcastable(const Operand& operand, const Value& x, int axis, const char* argument) {
  const Value part = part_of(operand, x, argument);
  if (part.rank() == 1 && x.rank() > 0) return along(part, x, axis, argument);
  const Dims dims = broadcast_dims(x.type(), part.type(), {"x", argument});
  if (equal(dims, x.dims()) == ir::Ternary::No) {
    Call::value_error(argument,
                      text(argument, " does not broadcast to x ", both(x, part, argument)));
  }
  return part;
}

/// Broadcasts `part` to the dims of x; guards require symbolic dims to be equal.
Value over(const Value& part, const Value& x) {
  Dims dims = part.dims();
  const std::size_t offset = x.dims().size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].is_one()) dims[i] = x.dims()[offset + i];
  }
  return ir::broadcast_to(ir::with_dims(part, dims), x.dims());
}

/// The four parts, which broadcast to x; gamma and beta may be empty.
struct Parts {
  Value mean, var, beta, gamma;
};

/// Applies the formula; gamma / sqrt(var + epsilon) is computed before it is broadcast.
Value normalized(const Value& x, const Parts& parts, double epsilon) {
  const Value root = ir::unary(Op::Sqrt, parts.var + ir::like(parts.var, epsilon));
  const Value centered = x - over(parts.mean, x);
  if (!parts.gamma && !parts.beta) return centered / over(root, x);
  Value result;
  if (!parts.gamma) {
    result = centered / over(root, x);
  } else if (parts.gamma.dims() == root.dims()) {
    result = centered * over(parts.gamma / root, x);
  } else {
    result = centered / over(root, x) * over(parts.gamma, x);
  }
  return parts.beta ? result + over(parts.beta, x) : result;
}

/// gamma or beta, reshaped to broadcast along the axes of x that are not reduced.
Value over_kept(const OptionalOperand& operand, const Value& x, const Value& mean, const Dims& kept,
                const char* argument) {
  if (operand.is_none()) return {};
  const Value part = part_of(operand.value(), x, argument);
  if (!operand.value().is_tensor()) return part;
  const ir::Dim have = product(part.dims()), need = product(mean.dims());
  if (equal(have, need) == ir::Ternary::No) {
    Call::value_error(argument, text(argument, " has ", have,
                                     " elements but the axes that are "
                                     "kept have ",
                                     need, " ", both(x, part, argument)));
  }
  return ir::reshape(part, kept);
}

}  // namespace

Tensor batch_normalization(const Operand& x, const Operand& mean, const Operand& var,
                           const OptionalOperand& beta, const OptionalOperand& gamma,
                           const BatchNormalizationOptions& options) {
  return api_call("batch_normalization", x.where(), [&] {
    require_epsilon(options.epsilon);
    const Value original = float_of(x);
    const int axis = axis_of(options.axis, std::max(original.rank(), 1));
    Parts parts{.mean = broadcastable(mean, original, axis, "mean"),
                .var = broadcastable(var, original, axis, "var"),
                .beta = {},
                .gamma = {}};
    if (!beta.is_none()) parts.beta = broadcastable(beta.value(), original, axis, "beta");
    if (!gamma.is_none()) parts.gamma = broadcastable(gamma.value(), original, axis, "gamma");
    const Value result = normalized(widened(original), parts, options.epsilon);
    return wrap(ir::cast(result, original.dtype()));
  });
}

NormalizedBatch normalize_batch_in_training(const Operand& x, const OptionalOperand& gamma,
                                            const OptionalOperand& beta, const Axes& reduction_axes,
                                            const NormalizeBatchOptions& options) {
  return api_call("normalize_batch_in_training", x.where(), [&]() -> NormalizedBatch {
    require_epsilon(options.epsilon);
    const Value original = float_of(x), value = widened(original);
    const Ints axes = axes_of(reduction_axes, value.rank(), "reduction_axes");
    const Value mean = ir::reduce_mean(value, axes), var = ir::variance(value, axes);
    const Value mean_kept = with_ones(mean, value, axes);
    const Dims& kept = mean_kept.dims();
    const Parts parts{.mean = mean_kept,
                      .var = with_ones(var, value, axes),
                      .beta = over_kept(beta, original, mean, kept, "beta"),
                      .gamma = over_kept(gamma, original, mean, kept, "gamma")};
    const Value normed = normalized(value, parts, options.epsilon);
    const auto narrow = [&](const Value& result) {
      return wrap(ir::cast(result, original.dtype()));
    };
    return {narrow(normed), narrow(mean), narrow(var)};
  });
}

}  // namespace kiln
