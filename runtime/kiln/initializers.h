// Initializers of variables. A fan is the number of inputs or outputs of a unit: for a kernel
// (.., inputs, outputs), the size of that axis times the product of the axes before both; for a
// vector, its size; for a scalar, 1. Random ones make floating-point dtypes only; an option `seed`
// makes each call return the same draws, and without one every call draws from the process-wide
// generator. Formulas: Keras 3.5, keras/src/initializers.
#pragma once

#include <kiln/initializer.h>

namespace kiln::initializers {

struct ConstantOptions {
  double value = 0;
};
struct RandomNormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<Seed> seed = {};
};
struct RandomUniformOptions {
  double minval = -0.05;  ///< inclusive
  double maxval = 0.05;   ///< exclusive
  std::optional<Seed> seed = {};
};
struct VarianceScalingOptions {
  double scale = 1;
  StringArgument mode = "fan_in";  ///< "fan_in", "fan_out" or their mean, "fan_avg"
  /// "truncated_normal" (also "normal"), "untruncated_normal" or "uniform"
  StringArgument distribution = "truncated_normal";
  std::optional<Seed> seed = {};
};
struct SeedOptions {
  std::optional<Seed> seed = {};
};
struct OrthogonalOptions {
  double gain = 1;
  std::optional<Seed> seed = {};
};
struct IdentityOptions {
  double gain = 1;
};

/// Returns an initializer of zeros, of any dtype.
///     K::initializers::Zeros()({2});  // [0. 0.]
[[nodiscard]] KILN_API Initializer Zeros();
/// Returns an initializer of ones, of any dtype.
///     K::initializers::Ones()({2}, "int32");  // [1 1]
[[nodiscard]] KILN_API Initializer Ones();
/// Returns an initializer of one value, cast to any dtype.
///     K::initializers::Constant({.value = 0.5})({2});  // [0.5 0.5]
[[nodiscard]] KILN_API Initializer Constant(const ConstantOptions& options = {});
/// Returns an initializer that draws from N(mean, stddev^2).
/// Errors: ValueError for a mean that is not finite, or a stddev that is negative or not finite.
///     K::initializers::RandomNormal({.mean = 3, .stddev = 0})({2});  // [3. 3.]
[[nodiscard]] KILN_API Initializer RandomNormal(const RandomNormalOptions& options = {},
                                                Where where = Where::here());
/// Returns an initializer that draws from U[minval, maxval).
/// Errors: ValueError unless minval <= maxval and both are finite.
///     K::initializers::RandomUniform({.minval = 3, .maxval = 3})({2});  // [3. 3.]
[[nodiscard]] KILN_API Initializer RandomUniform(const RandomUniformOptions& options = {},
                                                 Where where = Where::here());
/// Returns an initializer that draws from N(mean, stddev^2) truncated to two standard deviations.
/// Errors: those of RandomNormal.
///     const auto w = K::initializers::TruncatedNormal({.stddev = 1, .seed = 7})({100});
///     K::eval(K::max(K::abs(K::constant(w))) <= 2);  // True
[[nodiscard]] KILN_API Initializer TruncatedNormal(const RandomNormalOptions& options = {},
                                                   Where where = Where::here());
/// Returns an initializer that draws with mean 0 and variance scale / max(1, fan).
/// Errors: ValueError unless scale is finite and positive, and for an unknown mode or distribution.
///     const auto scaled = K::initializers::VarianceScaling({.distribution = "uniform"});
///     K::eval(K::all(K::abs(K::constant(scaled({12, 5}))) <= 0.5));  // True
[[nodiscard]] KILN_API Initializer VarianceScaling(const VarianceScalingOptions& options = {},
                                                   Where where = Where::here());
/// Returns VarianceScaling of scale 1, mode "fan_avg" and a truncated normal distribution.
///     K::initializers::GlorotNormal({.seed = 1})({2, 3}).dims().size();  // 2
[[nodiscard]] KILN_API Initializer GlorotNormal(const SeedOptions& options = {});
/// Returns VarianceScaling of scale 1, mode "fan_avg" and a uniform distribution.
///     const auto w = K::initializers::GlorotUniform()({3, 3});
///     K::eval(K::all(K::abs(K::constant(w)) <= 1));  // True
[[nodiscard]] KILN_API Initializer GlorotUniform(const SeedOptions& options = {});
/// Returns VarianceScaling of scale 2, mode "fan_in" and a truncated normal distribution.
///     K::initializers::HeNormal({.seed = 1})({2, 3}).dims().size();  // 2
[[nodiscard]] KILN_API Initializer HeNormal(const SeedOptions& options = {});
/// Returns VarianceScaling of scale 2, mode "fan_in" and a uniform distribution.
///     const auto w = K::initializers::HeUniform()({6, 3});
///     K::eval(K::all(K::abs(K::constant(w)) <= 1));  // True
[[nodiscard]] KILN_API Initializer HeUniform(const SeedOptions& options = {});
/// Returns VarianceScaling of scale 1, mode "fan_in" and a truncated normal distribution.
///     K::initializers::LecunNormal({.seed = 1})({2, 3}).dims().size();  // 2
[[nodiscard]] KILN_API Initializer LecunNormal(const SeedOptions& options = {});
/// Returns VarianceScaling of scale 1, mode "fan_in" and a uniform distribution.
///     const auto w = K::initializers::LecunUniform()({3, 3});
///     K::eval(K::all(K::abs(K::constant(w)) <= 1));  // True
[[nodiscard]] KILN_API Initializer LecunUniform(const SeedOptions& options = {});
/// Returns an initializer of `gain` times a matrix with orthonormal columns (rows, if it has fewer
/// rows), of shape (product of the other axes, last axis): the Q of a normal matrix whose R has a
/// positive diagonal, computed on the host in float64 by Gram-Schmidt. Saxe et al., 2014.
/// The initializer's errors: ValueError for a rank below 2; TypeError for integers and bool.
///     const auto w = K::constant(K::initializers::Orthogonal({.seed = 3})({2, 2}));
///     K::eval(K::round(K::abs(K::dot(w, K::transpose(w)))));  // [[1. 0.] [0. 1.]]
[[nodiscard]] KILN_API Initializer Orthogonal(const OrthogonalOptions& options = {},
                                              Where where = Where::here());
/// Returns an initializer of `gain` on the diagonal and zeros elsewhere, of any dtype.
/// The initializer's errors: ValueError for a rank other than 2.
///     K::initializers::Identity({.gain = 2})({2, 2});  // [[2. 0.] [0. 2.]]
[[nodiscard]] KILN_API Initializer Identity(const IdentityOptions& options = {});

}  // namespace kiln::initializers
