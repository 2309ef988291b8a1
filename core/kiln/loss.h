// Losses and rankings: group L of the K functions, its part that compares with a target. The order
// of arguments is (target, output). Formulas: TensorFlow's engine of Keras 2.2.5. float16 and
// bfloat16 are computed in float32 and rounded at the end.
#pragma once

#include <kiln/tensor.h>

namespace kiln {

struct CrossentropyOptions {
  bool from_logits = false;  ///< output holds logits, not probabilities
  int axis = -1;             ///< the axis of the classes
};
struct BinaryCrossentropyOptions {
  bool from_logits = false;
};

/// -sum(target * log(output)) over the axis, which is dropped. Probabilities are first divided by
/// their sum, then held between epsilon() and 1 - epsilon(); logits go through a log-softmax.
/// target and output have one floating point dtype, which is kept, and one shape. Gradients flow to
/// both; where a probability is held there is none to output.
/// Errors: ValueError for different shapes or an axis out of range; TypeError for other dtypes.
///     const auto target = K::constant({{0., 1.}}), output = K::constant({{0.5, 0.5}});
///     K::eval(K::categorical_crossentropy(target, output));  // [0.6931472]
KILN_API Tensor categorical_crossentropy(const Operand& target, const Operand& output,
                                         const CrossentropyOptions& options = {});

/// The same for integer classes (of any number dtype) instead of one-hot vectors: as many classes
/// as output has elements beside the axis, in any shape, so that (b, 1) fits (b, C). The result
/// has the dims of output without the axis. Probabilities are held between epsilon() and
/// 1 - epsilon() and then divided by their sum. A class outside the axis gives NaN. Classes of a
/// floating point dtype are rounded toward zero; they have no gradient.
/// Errors: ValueError for another number of targets or an axis out of range; TypeError when output
/// is not floating point.
///     const auto classes = K::constant({1}), output = K::constant({{0.5, 0.5}});
///     K::eval(K::sparse_categorical_crossentropy(classes, output));  // [0.6931472]
KILN_API Tensor sparse_categorical_crossentropy(const Operand& target, const Operand& output,
                                                const CrossentropyOptions& options = {});

/// Elementwise max(z, 0) - z * target + log(1 + e^-|z|), where z is the logit: of a probability p,
/// held between epsilon() and 1 - epsilon(), it is log(p / (1 - p)). Operands broadcast.
/// Errors: TypeError unless both are of one floating point dtype; ValueError when shapes do not
/// broadcast.
///     const auto target = K::constant({0., 1.}), output = K::constant({0.5, 0.5});
///     K::eval(K::binary_crossentropy(target, output));  // [0.6931472 0.6931472]
KILN_API Tensor binary_crossentropy(const Operand& target, const Operand& output,
                                    const BinaryCrossentropyOptions& options = {});

/// Whether fewer than k classes score strictly higher than the target's: bool (batch,) of
/// predictions (batch, classes) and integer targets (batch,). False where the target's score is
/// not finite or there is no such class, and for every sample when k < 1. Ties with the target do
/// not count, so that all of them are in. No gradient. (TensorFlow's in_top_k.)
/// Errors: ValueError for other ranks and batch sizes that differ; TypeError when targets are not
/// integers and when predictions are bool.
///     const auto scores = K::constant({{0.1, 0.7, 0.2}});
///     K::eval(K::in_top_k(scores, K::constant({2}, {.dtype = "int32"}), 2));  // [ True]
KILN_API Tensor in_top_k(const Operand& predictions, const Operand& targets, std::int64_t k);

}  // namespace kiln
