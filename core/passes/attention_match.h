// Matches the forward part of an attention around its softmax.
#pragma once

#include "core/ir/attrs.h"
#include "core/ir/node.h"

#include <optional>
#include <vector>

namespace kiln::passes {

/// A matmul of an attention, raw = q k^T or o = p v. The formula has the axes of operands and
/// result in the order batch, rows, columns; the node may have them in any order. `left`: the
/// node's operand that is q or p. The others: for each axis of the formula, the node's axis.
struct AttentionMatmul {
  const ir::Node* node = nullptr;
  std::size_t left = 0;
  ir::Ints left_axes, right_axes, result_axes;

  const ir::Value& left_operand() const { return node->operands[left]; }
  const ir::Value& right_operand() const { return node->operands[1 - left]; }
};

/// p = softmax(scores), where the scores are those of `raw` q k^T, scaled, with a bias or without.
struct AttentionScores {
  AttentionMatmul raw;  // [batch.., t, s], of q [batch.., t, d] and k [batch.., s, d]
  ir::Value scale;  // a scalar; empty: none
  bool divides = false;
  ir::Value bias;  // as many axes as `dims`, each 1 or that of `dims`; empty: none
  ir::Dims batch;  // the batch dims of the bias, or of p without one
};

/// Empty if the scores have another form or are float16 or bfloat16, or the softmax is over another
/// axis.
std::optional<AttentionScores> match_scores(const ir::Node& softmax);

/// The matmul of p [batch.., t, s] and v [batch.., s, e], if `dot` is that.
std::optional<AttentionMatmul> match_result(const ir::Node& dot, const ir::Node& softmax);

/// Permutes a value from the node's order of axes to the formula's, and back. `axes`: one of the
/// lists of AttentionMatmul.
ir::Value in_order(const ir::Value& value, const ir::Ints& axes);
ir::Value out_of_order(const ir::Value& value, const ir::Ints& axes);
/// Reshapes the batch dims, all but the last two. REQUIRES: as many elements.
ir::Value with_batch(const ir::Value& value, const ir::Dims& batch);

}  // namespace kiln::passes
