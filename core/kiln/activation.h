// Activations and normalisation of vectors: group L of the K functions, its part on one tensor.
// Each keeps the dims and the dtype of x. All but relu take floating point alone: TypeError for
// another dtype; relu takes numbers. Formulas: Keras 2.2.5, where nothing else is said.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct ReluOptions {
  double alpha = 0.0;                      ///< the slope below the threshold
  std::optional<double> max_value = {};    ///< an upper bound; one below 0 counts as 0
  double threshold = 0.0;
};
struct EluOptions {
  double alpha = 1.0;
};
struct SoftmaxOptions {
  int axis = -1;
};
struct L2NormalizeOptions {
  Axes axis = {};  ///< one axis or several; unset: the norm of the whole tensor
};

/// x where x >= threshold, clipped to [0, max_value] when that is given (so 0 between a negative
/// threshold and 0), else alpha * (x - threshold). The gradient at a threshold of 0 is alpha; where
/// x is clipped it is 0, at 0 and at max_value 1. NaN stays NaN. Formula: Keras 2.2.5.
/// Errors: TypeError for bool, and for options that are not integral beside integers.
///     const auto x = K::constant({-2., 0.5, 3.});
///     K::eval(K::relu(x, {.alpha = 0.5, .max_value = 2}));  // [-1. 0.5 2. ]
KILN_API Tensor relu(const Operand& x, const ReluOptions& options = {});
/// x where x > 0, else alpha * (e^x - 1). The gradient at 0 is alpha.
///     const auto x = K::constant({-1., 2.});
///     K::eval(K::elu(x));  // [-0.63212055 2. ]
KILN_API Tensor elu(const Operand& x, const EluOptions& options = {});
/// e^x / sum(e^x) along an axis, computed from x - max(x).
/// Errors: ValueError for a scalar and an axis out of range.
///     const auto x = K::constant({{1., 1.}, {0., 100.}});
///     K::eval(K::softmax(x));  // [[0.5 0.5] [0. 1. ]]
KILN_API Tensor softmax(const Operand& x, const SoftmaxOptions& options = {});
/// log(1 + e^x), without overflow.
///     const auto x = K::constant({0., 100.});
///     K::eval(K::softplus(x));  // [ 0.6931472 100. ]
KILN_API Tensor softplus(const Operand& x);
/// x / (1 + |x|).
///     const auto x = K::constant({-1., 3.});
///     K::eval(K::softsign(x));  // [-0.5 0.75]
KILN_API Tensor softsign(const Operand& x);
/// 1 / (1 + e^-x), without overflow.
///     const auto x = K::constant({0., 100.});
///     K::eval(K::sigmoid(x));  // [0.5 1. ]
KILN_API Tensor sigmoid(const Operand& x);
/// The hyperbolic tangent, between -1 and 1.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::tanh(x));  // [0. 0.46211714]
KILN_API Tensor tanh(const Operand& x);
/// 0.2 x + 0.5 held between 0 and 1. The gradient is 0.2 from -2.5 to 2.5, the ends included.
///     const auto x = K::constant({-3., 0., 1.});
///     K::eval(K::hard_sigmoid(x));  // [0. 0.5 0.7]
KILN_API Tensor hard_sigmoid(const Operand& x);
/// x / sqrt(max(sum(x^2), 1e-12)), the sum over the axes: zeros stay zeros (TensorFlow's formula).
/// float16 and bfloat16 are computed in float32.
/// Errors: ValueError for an axis out of range or named twice.
///     const auto x = K::constant({3., 4.});
///     K::eval(K::l2_normalize(x));  // [0.6 0.8]
KILN_API Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options = {});

}  // namespace kiln
