// Initializers of variables.
#include <kiln/initializers.h>
#include <kiln/k.h>

#include "core/types/text.h"

#include <cmath>
#include <numeric>

namespace kiln::initializers {
namespace {

using InitializerShape = std::vector<std::int64_t>;

/// The standard deviation of N(0, 1) truncated to [-2, 2]; Keras 3.5 has this literal.
constexpr double kTruncatedStddev = 0.87962566103423978;

struct Fans {
  double in, out;
};

/// The number of inputs and outputs of a unit (Keras 3.5, compute_fans). Sizes are multiplied as
/// doubles, in which no product of them overflows.
Fans fans_of(const InitializerShape& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const double before = std::accumulate(
      shape.begin(), shape.end() - 2, 1.0,
      [](double product, std::int64_t size) { return product * static_cast<double>(size); });
  return {before * static_cast<double>(shape[shape.size() - 2]),
          before * static_cast<double>(shape.back())};
}

Array draw_uniform(const InitializerShape& shape, DType dtype, double low, double high,
                   const std::optional<Seed>& seed) {
  return get_value(random_uniform_variable(shape, low, high, {.dtype = dtype, .seed = seed}));
}

Array draw_normal(const InitializerShape& shape, DType dtype, double mean, double stddev,
                  const std::optional<Seed>& seed) {
  return get_value(random_normal_variable(shape, mean, stddev, {.dtype = dtype, .seed = seed}));
}

/// Draws normal numbers and keeps those within two standard deviations, 95.4 % of them, in their
/// order. truncated_normal() of K would draw other numbers at each call, also with a seed.
Array draw_truncated(const InitializerShape& shape, DType dtype, double mean, double stddev,
                     const std::optional<Seed>& seed) {
  if (!is_float(dtype)) {
    throw TypeError("Initializer", "dtype", text("dtype ", dtype, " is not floating point"));
  }
  Array result = Array::zeros(shape, DType::Float64);
  const std::span<double> values = result.as<double>();
  std::size_t kept = 0;
  // A too small reserve is redrawn as a larger one. Over 99.99 % of the first reserves suffice.
  for (std::int64_t drawn = result.size() + result.size() / 10 + 32; kept < values.size();
       drawn *= 2) {
    kept = 0;
    const Array normal = draw_normal({drawn}, DType::Float64, 0, 1, seed);
    for (const double z : normal.as<double>()) {
      if (std::abs(z) <= 2 && kept < values.size()) values[kept++] = mean + stddev * z;
    }
  }
  return result.astype(dtype);
}

void require_normal(const char* function, const RandomNormalOptions& options, Where where) {
  if (!std::isfinite(options.mean)) {
    throw ValueError(function, "mean", text("mean ", options.mean, " is not finite"), where);
  }
  if (!(std::isfinite(options.stddev) && options.stddev >= 0)) {
    throw ValueError(function, "stddev",
                     text("stddev ", options.stddev, " is negative or not finite"), where);
  }
}

void require_name(const char* argument, const std::string& name,
                  const std::vector<std::string>& known, Where where) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw ValueError("VarianceScaling", argument,
                   text("unknown ", argument, " '", name, "': expected ", join_text(known)), where);
}

Array draw_scaled(const InitializerShape& shape, DType dtype,
                  const VarianceScalingOptions& options) {
  const Fans fans = fans_of(shape);
  const double fan = options.mode == "fan_in"    ? fans.in
                     : options.mode == "fan_out" ? fans.out
                                                 : (fans.in + fans.out) / 2;
  const double variance = options.scale / std::max(1.0, fan);
  if (options.distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return draw_uniform(shape, dtype, -limit, limit, options.seed);
  }
  const double stddev = std::sqrt(variance);
  if (options.distribution == "untruncated_normal") {
    return draw_normal(shape, dtype, 0, stddev, options.seed);
  }
  return draw_truncated(shape, dtype, 0, stddev / kTruncatedStddev, options.seed);
}

}  // namespace

Initializer Zeros() {
  return named_call("Zeros", {}, [] { return Constant({.value = 0}); });
}

Initializer Ones() {
  return named_call("Ones", {}, [] { return Constant({.value = 1}); });
}

Initializer Constant(const ConstantOptions& options) {
  return named_call("Constant", {}, [&]() -> Initializer {
    return [value = options.value](const InitializerShape& shape, DType dtype) {
      return Array::full(shape, value, dtype);
    };
  });
}

Initializer RandomNormal(const RandomNormalOptions& options, Where where) {
  return named_call("RandomNormal", where, [&]() -> Initializer {
    require_normal("RandomNormal", options, where);
    return [options](const InitializerShape& shape, DType dtype) {
      return draw_normal(shape, dtype, options.mean, options.stddev, options.seed);
    };
  });
}

Initializer RandomUniform(const RandomUniformOptions& options, Where where) {
  return named_call("RandomUniform", where, [&]() -> Initializer {
    const bool are_finite = std::isfinite(options.minval) && std::isfinite(options.maxval);
    if (!(are_finite && options.minval <= options.maxval)) {
      throw ValueError("RandomUniform", "minval",
                       text("minval ", options.minval, " and maxval ", options.maxval,
                            " are not in order or not finite"),
                       where);
    }
    return [options](const InitializerShape& shape, DType dtype) {
      return draw_uniform(shape, dtype, options.minval, options.maxval, options.seed);
    };
  });
}

Initializer TruncatedNormal(const RandomNormalOptions& options, Where where) {
  return named_call("TruncatedNormal", where, [&]() -> Initializer {
    require_normal("TruncatedNormal", options, where);
    return [options](const InitializerShape& shape, DType dtype) {
      return draw_truncated(shape, dtype, options.mean, options.stddev, options.seed);
    };
  });
}

Initializer VarianceScaling(const VarianceScalingOptions& options, Where where) {
  return named_call("VarianceScaling", where, [&]() -> Initializer {
    if (!(std::isfinite(options.scale) && options.scale > 0)) {
      throw ValueError("VarianceScaling", "scale",
                       text("scale ", options.scale, " is not positive or not finite"), where);
    }
    require_name("mode", options.mode, {"fan_in", "fan_out", "fan_avg"}, where);
    require_name("distribution", options.distribution,
                 {"truncated_normal", "normal", "untruncated_normal", "uniform"}, where);
    return [options](const InitializerShape& shape, DType dtype) {
      return draw_scaled(shape, dtype, options);
    };
  });
}

Initializer GlorotNormal(const SeedOptions& options) {
  return named_call("GlorotNormal", {},
                    [&] { return VarianceScaling({.mode = "fan_avg", .seed = options.seed}); });
}

Initializer GlorotUniform(const SeedOptions& options) {
  return named_call("GlorotUniform", {}, [&] {
    return VarianceScaling({.mode = "fan_avg", .distribution = "uniform", .seed = options.seed});
  });
}

Initializer HeNormal(const SeedOptions& options) {
  return named_call("HeNormal", {},
                    [&] { return VarianceScaling({.scale = 2, .seed = options.seed}); });
}

Initializer HeUniform(const SeedOptions& options) {
  return named_call("HeUniform", {}, [&] {
    return VarianceScaling({.scale = 2, .distribution = "uniform", .seed = options.seed});
  });
}

Initializer LecunNormal(const SeedOptions& options) {
  return named_call("LecunNormal", {}, [&] { return VarianceScaling({.seed = options.seed}); });
}

Initializer LecunUniform(const SeedOptions& options) {
  return named_call("LecunUniform", {}, [&] {
    return VarianceScaling({.distribution = "uniform", .seed = options.seed});
  });
}

Initializer Identity(const IdentityOptions& options) {
  return named_call("Identity", {}, [&]() -> Initializer {
    return [gain = options.gain](const InitializerShape& shape, DType dtype) {
      if (shape.size() != 2) {
        throw ValueError("Identity", "shape",
                         text("an identity has rank 2, not the shape (", join_text(shape), ")"));
      }
      const std::int64_t rows = shape[0], columns = shape[1];
      Array matrix = Array::zeros(shape, DType::Float64);
      const std::span<double> values = matrix.as<double>();
      for (std::int64_t i = 0; i < std::min(rows, columns); ++i) {
        values[static_cast<std::size_t>(i * columns + i)] = gain;
      }
      return matrix.astype(dtype);
    };
  });
}

}  // namespace kiln::initializers
