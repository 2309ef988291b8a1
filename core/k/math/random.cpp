// Random draws. Distributions are formulas of uniform draws, so that backends only implement
// RandomUniform; each K call has streams of its own.
#include <kiln/random.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/convert.h"
#include "core/ops/lambda_builder.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace kiln {
namespace {

using ir::Dims;
using ir::Value;

/// The draws of one K call, on the streams 0, 1, .. of its seed: the given one, or a new one from
/// the process-wide generator.
class Draws {
 public:
  explicit Draws(const std::optional<Seed>& seed)
      : seed_(seed ? std::int64_t{*seed} : static_cast<std::int64_t>(next_seed())) {}

  /// U[0, 1). Streams begin at 0, so that the first two draws share a Philox block.
  Value uniform(DType dtype, const Dims& dims) {
    const ir::RandomAttrs attrs{.type = {dtype, dims}, .seed = seed_, .stream = stream_++};
    return ir::make(ir::Op::RandomUniform, attrs, {ir::current_position()});
  }

 private:
  std::int64_t seed_;
  std::int64_t stream_ = 0;
};

DType float_dtype(const DTypeArgument& argument) {
  const DType dtype = dtype_of(argument);
  if (!is_float(dtype)) Call::type_error("dtype", text("dtype ", dtype, " is not floating point"));
  return dtype;
}

void require_finite(const char* argument, double value) {
  if (std::isfinite(value)) return;
  Call::value_error(argument, text(argument, " ", value, " is not finite"));
}

/// Rejects parameters of N(mean, stddev^2) that define no distribution.
void require_normal(const RandomNormalOptions& options) {
  require_finite("mean", options.mean);
  if (!std::isfinite(options.stddev) || options.stddev < 0) {
    Call::value_error("stddev",
                      text("stddev ", options.stddev, " is not a finite number of at least 0"));
  }
}

/// The dtype in which a formula is computed: float16 and bfloat16 are storage types.
DType wide(DType dtype) { return dtype == DType::Float64 ? dtype : DType::Float32; }

/// Rejects bounds that are not finite in the dtype, whose difference is not finite in the wide
/// dtype, or that are not in order.
void require_interval(double minval, double maxval, DType dtype) {
  for (const auto& [argument, bound] : {std::pair{"minval", minval}, {"maxval", maxval}}) {
    require_finite(argument, bound);
    if (ir::is_finite_in(dtype, bound)) continue;
    Call::value_error(argument, text(argument, " ", bound, " is not finite in ", dtype));
  }
  if (!ir::is_finite_in(wide(dtype), maxval - minval)) {
    Call::value_error(
        "maxval", text("maxval ", maxval, " - minval ", minval, " is not finite in ", wide(dtype)));
  }
  if (minval > maxval) {
    Call::value_error("minval", text("minval ", minval, " is greater than maxval ", maxval));
  }
}

/// sqrt(2) erfinv(x) for |x| <= erf(sqrt(2)), by Giles' polynomial (2012).
Value normal_quantile(const Value& x) {
  static constexpr double kCoefficients[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                             -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                             -0.00417768164,  0.246640727,    1.50140941};
  const Value w = -ir::unary(ir::Op::Log, (1.0 - x) * (1.0 + x)) - 2.5;
  Value p = ir::like(x, kCoefficients[0]);
  for (std::size_t i = 1; i < std::size(kCoefficients); ++i) p = p * w + kCoefficients[i];
  return p * x * std::numbers::sqrt2;
}

/// The dims of dropout's mask: noise_shape, with the dims of x for None or if it is unset.
Dims noise_dims(const Shape& shape, const Value& x) {
  Dims dims = x.dims();
  if (!shape.is_set()) return dims;
  Shape given = shape;
  if (!shape.is_tensor()) {
    std::vector<ShapeEntry> entries = shape.entries();
    for (ShapeEntry& entry : entries) {
      if (entry.is_none()) entry = 1;
    }
    given = Shape(entries);
  }
  Dims noise = dims_of(given, "noise_shape");
  if (noise.size() != dims.size()) {
    Call::value_error("noise_shape", text("noise_shape has ", noise.size(), " entries for the ",
                                          dims.size(), " axes of x (x ", x.type(), ")"));
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!shape.is_tensor() && shape.entries()[i].is_none()) noise[i] = dims[i];
  }
  const ir::Type mask{x.dtype(), noise};
  const Dims both = broadcast_dims(x.type(), mask, {"x", "noise_shape"});
  if (equal(both, dims) != ir::Ternary::No) return noise;
  Call::value_error("noise_shape", text("noise_shape ", to_string(noise),
                                        " does not broadcast to x (x ", x.type(), ")"));
}

}  // namespace

Tensor random_normal(const Shape& shape, const RandomNormalOptions& options, Where where) {
  return api_call("random_normal", where, [&] {
    require_normal(options);
    const DType dtype = float_dtype(options.dtype);
    const Dims dims = dims_of(shape);
    Draws draws(options.seed);
    const Value u = draws.uniform(wide(dtype), dims), v = draws.uniform(wide(dtype), dims);
    const Value radius = ir::unary(ir::Op::Sqrt, ir::unary(ir::Op::Log, 1.0 - u) * -2.0);
    const Value normal = radius * ir::unary(ir::Op::Cos, v * (2 * std::numbers::pi));
    return wrap(ir::cast(normal * options.stddev + options.mean, dtype));
  });
}

Tensor random_uniform(const Shape& shape, const RandomUniformOptions& options, Where where) {
  return api_call("random_uniform", where, [&] {
    const DType dtype = float_dtype(options.dtype);
    require_interval(options.minval, options.maxval, dtype);
    const Dims dims = dims_of(shape);
    const Value u = Draws(options.seed).uniform(dtype, dims);
    if (options.minval == 0 && options.maxval == 1) return wrap(u);
    const double length = options.maxval - options.minval;
    const Value scaled = ir::cast(ir::cast(u, wide(dtype)) * length + options.minval, dtype);
    if (!(options.minval < options.maxval)) return wrap(scaled);
    // Rounding can give maxval: such a draw becomes minval, so that the interval is half open.
    const Value inside = ir::less(scaled, ir::like(scaled, options.maxval));
    return wrap(ir::select(inside, scaled, ir::like(scaled, options.minval)));
  });
}

Tensor random_binomial(const Shape& shape, const RandomBinomialOptions& options, Where where) {
  return api_call("random_binomial", where, [&] {
    if (!(options.p >= 0 && options.p <= 1)) {
      Call::value_error("p", text("p ", options.p, " is outside [0, 1]"));
    }
    const DType dtype = dtype_of(options.dtype);
    const Dims dims = dims_of(shape);
    // u is in (0, 1], so that p = 0 never gives 1 and p = 1 always does.
    const Value u = 1.0 - Draws(options.seed).uniform(wide(dtype), dims);
    return wrap(ir::cast(ir::less_equal_to(u, ir::like(u, options.p)), dtype));
  });
}

Tensor truncated_normal(const Shape& shape, const RandomNormalOptions& options, Where where) {
  return api_call("truncated_normal", where, [&] {
    require_normal(options);
    const DType dtype = float_dtype(options.dtype);
    const Value u = Draws(options.seed).uniform(wide(dtype), dims_of(shape));
    const double edge = std::erf(std::numbers::sqrt2);
    const Value normal = normal_quantile((u * 2.0 - 1.0) * edge);
    return wrap(ir::cast(normal * options.stddev + options.mean, dtype));
  });
}

Tensor random_categorical(const Operand& logits, WholeNumber num_samples,
                          const RandomCategoricalOptions& options) {
  return api_call("random_categorical", logits.where(), [&] {
    const Value given = float_of(logits, "logits");
    const DType dtype = dtype_of(options.dtype, DType::Int32);
    if (!is_integer(dtype)) Call::type_error("dtype", text("dtype ", dtype, " is not an integer"));
    if (given.rank() != 2) {
      Call::value_error(
          "logits", text("logits have rank ", given.rank(), ", not 2 (logits ", given.type(), ")"));
    }
    if (num_samples < 0) Call::value_error("num_samples", text("num_samples is ", num_samples));
    const Value value = ir::cast(given, wide(given.dtype()));
    const Dims dims{value.dims()[0], std::int64_t{num_samples}, value.dims()[1]};
    // u = 0 would make -log(-log(u)) -inf, as improbable as a class of logit -inf.
    const Value u = Draws(options.seed).uniform(value.dtype(), dims);
    const Value positive = ir::binary(ir::Op::Maximum, u, ir::like(u, 0x1p-25));
    const Value noise = -ir::unary(ir::Op::Log, -ir::unary(ir::Op::Log, positive));
    const Value noisy = ir::broadcast(value, dims, {0, 2}) + noise;
    return wrap(ir::cast(ir::make(ir::Op::ArgMax, ir::AxisAttrs{2}, {noisy}), dtype));
  });
}

Tensor dropout(const Operand& x, double level, const DropoutOptions& options) {
  return api_call("dropout", x.where(), [&] {
    const Value value = float_of(x);
    if (!(level >= 0 && level < 1)) {
      Call::value_error("level", text("level ", level, " is outside [0, 1)"));
    }
    const Dims noise = noise_dims(options.noise_shape, value);
    const Value u = Draws(options.seed).uniform(wide(value.dtype()), noise);
    const Value dropped = ir::broadcast_to(ir::less(u, ir::like(u, level)), value.dims());
    return wrap(ir::select(dropped, ir::zeros_like(value), value / (1 - level)));
  });
}

}  // namespace kiln
