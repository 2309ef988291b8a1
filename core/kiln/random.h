// Random tensors: group N of the K functions, and dropout. Every evaluation draws anew; a graph's
// draws are fixed by the seed, the number of the call, the step inside a loop and the element, on
// every backend alike (Philox 4x32-10, Salmon et al. 2011). `shape` is a list of sizes, of which
// some or all may be integer scalar tensors, or an integer vector tensor of known length;
// ValueError for None, a negative size (at the call when it is data) and other tensors.
// Draws have no gradient.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct RandomNormalOptions {
  double mean = 0.0;
  double stddev = 1.0;
  DTypeArgument dtype = {};               ///< unset: floatx()
  std::optional<std::int64_t> seed = {};  ///< fixes the whole stream; unset: a stream of its own
};
struct RandomUniformOptions {
  double minval = 0.0;
  double maxval = 1.0;
  DTypeArgument dtype = {};
  std::optional<std::int64_t> seed = {};
};
struct RandomBinomialOptions {
  double p = 0.0;
  DTypeArgument dtype = {};
  std::optional<std::int64_t> seed = {};
};
struct DropoutOptions {
  /// Broadcasts to x's shape: axes of size 1 share their mask, None is x's size.
  /// A list or an integer vector tensor; unset: the shape of x.
  Shape noise_shape = Shape::unset();
  std::optional<std::int64_t> seed = {};
};

/// N(mean, stddev^2), by Box and Muller's transform. float16 and bfloat16 are drawn in float32.
/// Errors: TypeError for a dtype that is not floating point; ValueError for a bad shape.
///     const auto x = K::random_normal({2}, {.mean = 5, .stddev = 0});
///     K::eval(x);  // [5. 5.]
KILN_API Tensor random_normal(const Shape& shape, const RandomNormalOptions& options = {},
                              Where where = Where::here());
/// U[minval, maxval); minval alone where both are equal.
/// Errors: those of random_normal.
///     const auto x = K::random_uniform({100}, {.minval = 2, .maxval = 3});
///     K::eval(K::all(x >= 2)) == K::eval(K::all(x < 3));  // true
KILN_API Tensor random_uniform(const Shape& shape, const RandomUniformOptions& options = {},
                               Where where = Where::here());
/// 1 with probability p, else 0, as numbers of any dtype: u < p for a draw u of U[0, 1), so that 0
/// and 1 are certain.
/// Errors: ValueError for a bad shape; TypeError for a dtype that is not known.
///     const auto x = K::random_binomial({3}, {.p = 1});
///     K::eval(x);  // [1. 1. 1.]
KILN_API Tensor random_binomial(const Shape& shape, const RandomBinomialOptions& options = {},
                                Where where = Where::here());
/// N(mean, stddev^2) without what lies beyond two standard deviations, as if drawn again: the
/// inverse of the distribution function (M. Giles, "Approximating the erfinv function", 2012). Its
/// standard deviation is 0.87962566 stddev, which VarianceScaling relies on.
/// Errors: those of random_normal.
///     const auto x = K::truncated_normal({100});
///     K::eval(K::all(K::abs(x) <= 2));  // True
KILN_API Tensor truncated_normal(const Shape& shape, const RandomNormalOptions& options = {},
                                 Where where = Where::here());

/// Sets elements of x to 0 with probability level and divides the others by 1 - level; always
/// active. Floating point, the dims and the dtype kept. Its gradient uses the same mask.
/// Errors: ValueError when level is outside [0, 1), and when noise_shape has another rank than x or
/// does not broadcast to it; TypeError for another dtype.
///     const auto x = K::dropout(K::ones({100}), 0.5);
///     K::eval(K::max(x));  // 2.0
KILN_API Tensor dropout(const Operand& x, double level, const DropoutOptions& options = {});

}  // namespace kiln
