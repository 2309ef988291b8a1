// Random draws, and dropout. Every evaluation draws anew. Draws depend only on the seed, the number
// of the call, the step of the loop and the element (Philox 4x32-10, Salmon et al. 2011). Numbers
// of calls, and seeds that are not given, are those of a RandomState (kiln/random_state.h): by
// default of the process's, the process-wide generator. Uniform draws are equal on all backends,
// formulas of them within the accuracy of log and cos. shape: sizes, any of which may be integer
// scalar tensors, or an integer vector tensor of known length; ValueError for None, other tensors
// and negative sizes (at the call if data-dependent). Draws have no gradient.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct RandomNormalOptions {
  double mean = 0.0;
  double stddev = 1.0;
  DTypeArgument dtype = {};  ///< unset: floatx()
  std::optional<Seed> seed = {};  ///< unset: drawn from the process-wide generator
};
struct RandomUniformOptions {
  double minval = 0.0;  ///< inclusive
  double maxval = 1.0;  ///< exclusive
  DTypeArgument dtype = {};  ///< unset: floatx()
  std::optional<Seed> seed = {};  ///< unset: drawn from the process-wide generator
};
struct RandomBinomialOptions {
  double p = 0.0;  ///< the probability of 1
  DTypeArgument dtype = {};  ///< unset: floatx()
  std::optional<Seed> seed = {};  ///< unset: drawn from the process-wide generator
};
struct RandomCategoricalOptions {
  DTypeArgument dtype = "int32";  ///< an integer dtype
  std::optional<Seed> seed = {};  ///< unset: drawn from the process-wide generator
};
struct DropoutOptions {
  /// The shape of the mask, which broadcasts to x: axes of size 1 share their mask, None is the
  /// size of x. A list or an integer vector tensor; unset: the shape of x.
  Shape noise_shape = Shape::unset();
  std::optional<Seed> seed = {};
};

/// Draws from the normal distribution N(mean, stddev^2), by the Box-Muller transform. float16 and
/// bfloat16 are computed in float32.
/// Errors: TypeError for a dtype that is not floating point; ValueError for an invalid shape, a
/// mean that is not finite, or a stddev that is negative or not finite.
///     const auto x = K::random_normal({2}, {.mean = 5, .stddev = 0});
///     K::eval(x);  // [5. 5.]
KILN_API Tensor random_normal(const Shape& shape, const RandomNormalOptions& options = {},
                              Where where = Where::here());
/// Draws from the uniform distribution over [minval, maxval); minval if both are equal.
/// float16 and bfloat16 are computed in float32.
/// Errors: TypeError for a dtype that is not floating point; ValueError for an invalid shape, for
/// bounds that are not finite in the dtype, for a difference of the bounds that is not finite where
/// it is computed, or a minval greater than maxval.
///     const auto x = K::random_uniform({100}, {.minval = 2, .maxval = 3});
///     K::eval(K::all(x >= 2)) == K::eval(K::all(x < 3));  // true
KILN_API Tensor random_uniform(const Shape& shape, const RandomUniformOptions& options = {},
                               Where where = Where::here());
/// Draws 1 with probability p, else 0, as any dtype. A p of 0 or 1 is exact.
/// Errors: ValueError for an invalid shape or a p outside [0, 1]; TypeError for an unknown dtype
/// name.
///     const auto x = K::random_binomial({3}, {.p = 1});
///     K::eval(x);  // [1. 1. 1.]
KILN_API Tensor random_binomial(const Shape& shape, const RandomBinomialOptions& options = {},
                                Where where = Where::here());
/// Draws from N(mean, stddev^2) truncated to two standard deviations. Computed by the inverse of
/// the distribution function (Giles, "Approximating the erfinv function", 2012). The standard
/// deviation of the draws is 0.87962566 stddev, which VarianceScaling relies on.
/// Errors: those of random_normal.
///     const auto x = K::truncated_normal({100});
///     K::eval(K::all(K::abs(x) <= 2));  // True
KILN_API Tensor truncated_normal(const Shape& shape, const RandomNormalOptions& options = {},
                                 Where where = Where::here());

/// Draws num_samples classes for each row of logits (batch, classes), class i with probability
/// softmax(logits)[i], as (batch, num_samples). By the Gumbel-max method: the argmax of logits -
/// log(-log(u)) of uniform u, in float32 at least. A class of logit -inf is never drawn beside a
/// finite one; a row of -inf alone gives 0, a NaN counts as the largest logit. Meaning: Keras 3.5's
/// random.categorical.
/// Errors: TypeError for logits that are not floating point or a dtype that is not an integer;
/// ValueError for another rank, no classes (at the call if that is unknown) or a negative
/// num_samples.
///     const auto logits = K::log(K::constant({{0., 1.}, {1., 0.}}));
///     K::eval(K::random_categorical(logits, 3));  // [[1 1 1] [0 0 0]]
KILN_API Tensor random_categorical(const Operand& logits, WholeNumber num_samples,
                                   const RandomCategoricalOptions& options = {});

/// Sets elements of x to 0 with probability level and divides the others by 1 - level, in every
/// learning phase. x: floating point; shape and dtype are kept. The gradient uses the same mask.
/// Errors: ValueError for a level outside [0, 1), or a noise_shape of another rank than x or that
/// does not broadcast to it; TypeError for another dtype.
///     const auto x = K::dropout(K::ones({100}), 0.5);
///     K::eval(K::max(x));  // 2.0
KILN_API Tensor dropout(const Operand& x, double level, const DropoutOptions& options = {});

}  // namespace kiln
