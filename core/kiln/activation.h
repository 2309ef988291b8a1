// Activations. Each keeps the shape and dtype of x. relu takes numbers, all others floating-point
// dtypes only; they throw TypeError for other dtypes. Formulas: Keras 2.2.5 unless stated
// otherwise.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct ReluOptions {
  double alpha = 0.0;                    ///< the slope below the threshold
  std::optional<double> max_value = {};  ///< the upper bound; a negative one counts as 0
  double threshold = 0.0;                ///< x below it is scaled by alpha
};
struct EluOptions {
  double alpha = 1.0;  ///< minus the limit for x -> -infinity
};
struct GeluOptions {
  Flag approximate = false;  ///< computes tanh in place of the error function
};
struct SoftmaxOptions {
  WholeNumber axis = -1;  ///< the axis along which the result sums to 1
};
struct L2NormalizeOptions {
  Axes axis = None;  ///< the axes of the norm; None: the norm of the whole tensor
};

/// Returns the rectified linear unit: x where x >= threshold, else alpha * (x - threshold).
/// max_value clips the upper part to [0, max_value]. The gradient at a threshold of 0 is alpha; it
/// is 0 where x is clipped, and 1 at 0 and at max_value. NaN stays NaN. Formula: Keras 2.2.5.
/// Errors: TypeError for bool, and for options with a fraction if x is an integer.
///     const auto x = K::constant({-2., 0.5, 3.});
///     K::eval(K::relu(x, {.alpha = 0.5, .max_value = 2}));  // [-1. 0.5 2. ]
KILN_API Tensor relu(const Operand& x, const ReluOptions& options = {});
/// Returns the exponential linear unit: x where x > 0, else alpha * (e^x - 1). The gradient at 0 is
/// alpha.
///     const auto x = K::constant({-1., 2.});
///     K::eval(K::elu(x));  // [-0.63212055 2. ]
KILN_API Tensor elu(const Operand& x, const EluOptions& options = {});
/// Returns the Gaussian error linear unit, x times the probability that a standard normal number is
/// below x: 0.5 x (1 + erf(x / sqrt(2))); if approximate, 0.5 x (1 + tanh(sqrt(2 / pi) (x +
/// 0.044715 x^3))). float16 and bfloat16 are computed in float32 and rounded once. NaN for
/// -infinity. Formulas and default: Keras 3.5's activations.gelu; its ops.gelu is approximate by
/// default.
///     const auto x = K::constant({-1., 2.});
///     K::eval(K::gelu(x));  // [-0.15865526 1.9544997 ]
KILN_API Tensor gelu(const Operand& x, const GeluOptions& options = {});
/// Returns the softmax e^x / sum(e^x) along an axis, computed without overflow from x - max(x).
/// float16 and bfloat16 are computed in float32 and rounded once.
/// Errors: ValueError for a scalar or an axis out of range.
///     const auto x = K::constant({{1., 1.}, {0., 100.}});
///     K::eval(K::softmax(x));  // [[0.5 0.5] [0. 1. ]]
KILN_API Tensor softmax(const Operand& x, const SoftmaxOptions& options = {});
/// Returns the logarithm of softmax, x - log(sum(e^x)) along an axis, computed without overflow
/// from x - max(x): finite where softmax underflows to 0. float16 and bfloat16 are computed in
/// float32 and rounded once. Formula: Keras 3.5's ops.log_softmax. Errors: those of softmax.
///     const auto x = K::constant({{1., 1.}, {0., 100.}});
///     K::eval(K::log_softmax(x));  // [[ -0.6931472 -0.6931472] [-100. 0. ]]
KILN_API Tensor log_softmax(const Operand& x, const SoftmaxOptions& options = {});
/// Returns log(1 + e^x), computed without overflow.
///     const auto x = K::constant({0., 100.});
///     K::eval(K::softplus(x));  // [ 0.6931472 100. ]
KILN_API Tensor softplus(const Operand& x);
/// Returns x / (1 + |x|), which is between -1 and 1.
///     const auto x = K::constant({-1., 3.});
///     K::eval(K::softsign(x));  // [-0.5 0.75]
KILN_API Tensor softsign(const Operand& x);
/// Returns the logistic function 1 / (1 + e^-x), computed without overflow.
///     const auto x = K::constant({0., 100.});
///     K::eval(K::sigmoid(x));  // [0.5 1. ]
KILN_API Tensor sigmoid(const Operand& x);
/// Returns the hyperbolic tangent, between -1 and 1.
///     const auto x = K::constant({0., 0.5});
///     K::eval(K::tanh(x));  // [0. 0.46211717]
KILN_API Tensor tanh(const Operand& x);
/// Returns a piecewise linear sigmoid: 0.2 x + 0.5 clipped to [0, 1]. The gradient is 0.2 for -2.5
/// <= x <= 2.5.
///     const auto x = K::constant({-3., 0., 1.});
///     K::eval(K::hard_sigmoid(x));  // [0. 0.5 0.7]
KILN_API Tensor hard_sigmoid(const Operand& x);
/// Returns x divided by its L2 norm: x / sqrt(max(sum(x^2), 1e-12)), with the sum over the axes.
/// float16 and bfloat16 are computed in float32. Formula: TensorFlow.
/// Errors: ValueError for an axis out of range or repeated.
///     const auto x = K::constant({3., 4.});
///     K::eval(K::l2_normalize(x));  // [0.6 0.8]
KILN_API Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options = {});

}  // namespace kiln
