// Batch normalisation: group G of the K functions. The two functions take gamma and beta in
// opposite orders, as Keras' do. float16 and bfloat16 are computed in float32 and rounded at the
// end. Formulas: Keras 2.2.5, whose epsilon lies inside the root and whose variance is the
// population's.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

namespace kiln {

struct BatchNormalizationOptions {
  int axis = -1;           ///< the axis of x that vectors lie along
  double epsilon = 0.001;  ///< added to the variance
};
struct NormalizeBatchOptions {
  double epsilon = 0.001;  ///< added to the variance
};
struct NormalizedBatch {
  Tensor normed;  ///< the shape of x
  Tensor mean;    ///< x's mean over the reduction axes, which are dropped
  Tensor var;     ///< and its variance
};

/// (x - mean) / sqrt(var + epsilon) * gamma + beta, in the shape and dtype of x. Each of the four
/// is a vector along `axis` of x, or broadcasts to x as in NumPy; without gamma (None) it is 1,
/// without beta 0.
/// Errors: TypeError unless all are of one floating point dtype; ValueError for a vector of another
/// size than that axis, for one that does not broadcast to x, for an axis out of range and for an
/// epsilon that is negative or not finite.
///     const auto x = K::constant({1., 5.});
///     K::eval(K::batch_normalization(x, 1, 4, K::None, K::None, {.epsilon = 0}));  // [0. 2.]
KILN_API Tensor batch_normalization(const Operand& x, const Operand& mean, const Operand& var,
                                    const OptionalOperand& beta, const OptionalOperand& gamma,
                                    const BatchNormalizationOptions& options = {});

/// batch_normalization with the mean and the population variance, mean((x - mean)^2), of x itself
/// over reduction_axes (one or several, negative ones counted from the end; all with None).
/// gamma and beta have as many elements as the axes that are kept, in their order; None is 1 and 0.
/// normed has the dims of x, mean and var those that are kept; all have its dtype. Gradients flow
/// through the mean and the variance. NaN over nothing.
/// Errors: TypeError unless all are of one floating point dtype; ValueError for gamma or beta of
/// another number of elements, for axes out of range or repeated and for a bad epsilon.
///     const auto x = K::constant({{1., 0.}, {3., 0.}});
///     K::eval(K::normalize_batch_in_training(x, K::None, K::None, 0).mean);  // [2. 0.]
KILN_API NormalizedBatch normalize_batch_in_training(const Operand& x, const OptionalOperand& gamma,
                                                     const OptionalOperand& beta,
                                                     const Axes& reduction_axes,
                                                     const NormalizeBatchOptions& options = {});

}  // namespace kiln
