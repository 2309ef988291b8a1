// Attention as one function. Formula: Keras 3.5's ops.nn.dot_product_attention, with the heads
// among the batch axes.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

namespace kiln {

struct AttentionOptions {
  /// A summand of the scores, of the dtype of q: (.., t, s), broadcast by NumPy's rule. -inf
  /// masks a key.
  OptionalOperand bias = None;
  OptionalOperand scale = None;  ///< a scalar that multiplies the scores; None: 1 / sqrt(d)
  Flag causal = false;  ///< whether query i attends to keys 0 .. i alone
};

/// Returns softmax(scale * q k^T + bias) v, with the softmax over the keys: for each query, the sum
/// of values v weighted by how well their keys match. q: (.., t, d), k: (.., s, d), v: (.., s, e),
/// of one floating-point dtype, with equal batch axes; the result is (.., t, e). float16 and
/// bfloat16 are computed in float32 and rounded once; a library of the backend may round the
/// weights of the values and, in gradients, the cotangents of the scores, too, which may overflow
/// in float16. Where the backend has a kernel for it, memory is O(t + s) instead of O(t s). A query
/// for which all keys are masked gives NaN. Errors: ValueError for a rank below 2, other ranks or
/// batch axes than those of q, sizes d or s that differ, a bias that does not broadcast to the
/// scores, or a scale that is not a scalar; TypeError unless all have one floating-point dtype.
///     const auto q = K::constant({{0., 100.}}), k = K::constant({{1., 0.}, {0., 1.}});
///     K::eval(K::dot_product_attention(q, k, K::constant({{1.}, {2.}})));  // [[2.]]
KILN_API Tensor dot_product_attention(const Operand& q, const Operand& k, const Operand& v,
                                      const AttentionOptions& options = {});

}  // namespace kiln
