// The sizes of an attention in one call.
#pragma once

#include "core/ir/node.h"
#include "core/ops/op.h"

#include <cstdint>

namespace kiln::codegen {

class EvaluateDim;

/// Whether an Attention or AttentionGradient has a bias, its fifth operand.
inline bool has_bias(const ir::Node& node) {
  return node.operands.size() > (node.op == ir::Op::AttentionGradient ? 7 : 4);
}

/// Dense tensors: q (batch.., t, d), k (batch.., s, d), v (batch.., s, e), a scalar scale
/// and maybe a bias; see core/ops/attention.h.
struct AttentionShape {
  bool is_gradient = false;
  ir::Ints batch;  // sizes of the batch axes
  std::int64_t t = 0, s = 0, d = 0, e = 0;
  bool divides = false, causal = false;  // ir::AttentionAttrs
  bool has_bias = false;
  /// The strides of the bias along each batch axis, queries and keys; 0 where it broadcasts.
  ir::Ints bias_batch;
  std::int64_t bias_t = 0, bias_s = 0;

  std::int64_t matrices() const {
    std::int64_t count = 1;
    for (const std::int64_t size : batch) count *= size;
    return count;
  }
};

/// `node`: an Attention or AttentionGradient. Throws what `evaluate` throws.
AttentionShape attention_shape(const ir::Node& node, const EvaluateDim& evaluate);

}  // namespace kiln::codegen
