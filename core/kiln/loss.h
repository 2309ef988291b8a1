// Losses and rankings. Arguments are in the order (target, output). float16 and bfloat16 are
// computed in float32 and rounded at the end. Formulas: TensorFlow's backend of Keras 2.2.5.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct CrossentropyOptions {
  Flag from_logits = false;  ///< whether output holds logits, not probabilities
  WholeNumber axis = -1;     ///< the axis of the classes
};
struct BinaryCrossentropyOptions {
  Flag from_logits = false;  ///< whether output holds logits, not probabilities
};

/// Returns the cross-entropy -sum(target * log(output)) over the axis, which is dropped.
/// Probabilities are divided by their sum, then clipped to [epsilon(), 1 - epsilon()]; logits go
/// through a log-softmax. A target of 0 contributes nothing, even for a logit of -inf. target and
/// output: one shape and one floating-point dtype, kept. Gradients flow to both, but not to output
/// where a probability is clipped.
/// Errors: ValueError for different shapes or an axis out of range; TypeError for other dtypes.
///     const auto target = K::constant({{0., 1.}}), output = K::constant({{0.5, 0.5}});
///     K::eval(K::categorical_crossentropy(target, output));  // [0.6931472]
KILN_API Tensor categorical_crossentropy(const Operand& target, const Operand& output,
                                         const CrossentropyOptions& options = {});

/// Returns the cross-entropy with class numbers instead of one-hot vectors as target. target:
/// numbers of any dtype, rounded toward zero, one per position of output along the other axes, in
/// any shape: (b, 1) fits (b, C). output: floating point, its dtype is kept. The result has the
/// dims of output without the axis. Probabilities are clipped to [epsilon(), 1 - epsilon()], then
/// divided by their sum. A class out of range gives NaN. Gradients flow to output only.
/// Errors: ValueError for another number of targets or an axis out of range; TypeError unless
/// output is floating point.
///     const auto classes = K::constant({1}), output = K::constant({{0.5, 0.5}});
///     K::eval(K::sparse_categorical_crossentropy(classes, output));  // [0.6931472]
KILN_API Tensor sparse_categorical_crossentropy(const Operand& target, const Operand& output,
                                                const CrossentropyOptions& options = {});

/// Returns the binary cross-entropy of each element, max(z, 0) - z * target + log(1 + e^-|z|) for
/// the logit z. A probability p is clipped to [epsilon(), 1 - epsilon()] and converted to the logit
/// log(p / (1 - p)). The loss of an infinite logit is 0 for the target that it predicts, infinity
/// for others. target and output: one floating-point dtype, kept; they broadcast.
/// Errors: TypeError for other dtypes; ValueError if shapes do not broadcast.
///     const auto target = K::constant({0., 1.}), output = K::constant({0.5, 0.5});
///     K::eval(K::binary_crossentropy(target, output));  // [0.6931472 0.6931472]
KILN_API Tensor binary_crossentropy(const Operand& target, const Operand& output,
                                    const BinaryCrossentropyOptions& options = {});

/// Returns whether the target is among the k best classes, that is, fewer than k classes score
/// strictly higher. predictions: (batch, classes), numbers; targets: (batch,), integers. The result
/// is bool (batch,). False where the target's score is not finite or the class does not exist, and
/// always if k < 1. No gradient. Semantics: TensorFlow's in_top_k.
/// Errors: ValueError for other ranks or different batch sizes; TypeError for targets that are not
/// integers and for bool predictions.
///     const auto scores = K::constant({{0.1, 0.7, 0.2}});
///     K::eval(K::in_top_k(scores, K::constant({2}, {.dtype = "int32"}), 2));  // [ True]
KILN_API Tensor in_top_k(const Operand& predictions, const Operand& targets, WholeNumber k);

}  // namespace kiln
