// Batch normalization. float16 and bfloat16 are computed in float32 and rounded at the end. The two
// functions take gamma and beta in opposite orders, as in Keras. Formulas: Keras 2.2.5, with
// epsilon inside the square root and the population variance.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

namespace kiln {

struct BatchNormalizationOptions {
  WholeNumber axis = -1;  ///< the axis of x to which vectors apply
  double epsilon = 0.001;  ///< added to the variance
};
struct NormalizeBatchOptions {
  double epsilon = 0.001;  ///< added to the variance
};
struct [[nodiscard]] NormalizedBatch {
  Tensor normed;  ///< the shape of x
  Tensor mean;  ///< the mean of x over the reduction axes, which are dropped
  Tensor var;  ///< the variance over the same axes
};

/// Normalizes with given statistics: (x - mean) / sqrt(var + epsilon) * gamma + beta, with the
/// shape and dtype of x. mean, var, beta and gamma are vectors along `axis` of x, or broadcast to
/// x. None means 1 for gamma and 0 for beta.
/// Errors: TypeError unless all have one floating-point dtype; ValueError for an operand that does
/// not fit x, an axis out of range, or an epsilon that is negative or not finite.
///     const auto x = K::constant({1., 5.});
///     K::eval(K::batch_normalization(x, 1, 4, K::None, K::None, {.epsilon = 0}));  // [0. 2.]
KILN_API Tensor batch_normalization(const Operand& x, const Operand& mean, const Operand& var,
                                    const OptionalOperand& beta, const OptionalOperand& gamma,
                                    const BatchNormalizationOptions& options = {});

/// Normalizes with the mean and population variance, mean((x - mean)^2), of x over reduction_axes
/// (None: all axes). gamma and beta have as many elements as the other axes of x, in their order;
/// None means 1 for gamma and 0 for beta. normed has the shape of x, mean and var that of the other
/// axes; all have the dtype of x. Gradients flow through mean and variance. NaN over no elements.
/// Errors: TypeError unless all have one floating-point dtype; ValueError for gamma or beta with
/// another number of elements, axes out of range or repeated, or an epsilon that is negative or not
/// finite.
///     const auto x = K::constant({{1., 0.}, {3., 0.}});
///     K::eval(K::normalize_batch_in_training(x, K::None, K::None, 0).mean);  // [2. 0.]
KILN_API NormalizedBatch normalize_batch_in_training(const Operand& x, const OptionalOperand& gamma,
                                                     const OptionalOperand& beta,
                                                     const Axes& reduction_axes,
                                                     const NormalizeBatchOptions& options = {});

}  // namespace kiln
