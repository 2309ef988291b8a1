// Matches the forward part of an attention around its softmax.
#pragma once

#include "core/ir/node.h"
#include "core/ir/attrs.h"

#include <optional>
#include <vector>

namespace kiln::passes {

/// A product of an attention: its node, which operand is its left one in the formula, and for each
/// axis of the formula's order of operands and result the axis of the node's.
struct AttentionProduct {
  const ir::Node* node = nullptr;
  std::size_t left = 0;
  ir::Ints left_axes, right_axes, result_axes;

  const ir::Value& left_operand() const { return node->operands[left]; }
  const ir::Value& right_operand() const { return node->operands[1 - left]; }
};

/// p = softmax(scores), where the scores are those of `raw` q k^T, scaled, with a bias or without.
struct AttentionScores {
  AttentionProduct raw;  // [batch.., t, s], of q [batch.., t, d] and k [batch.., s, d]
  ir::Value scale;  // a scalar; empty: none
  bool divides = false;
  ir::Value bias;  // as many axes as `dims`, each 1 or that of `dims`; empty: none
  ir::Dims batch;  // the batch dims of the bias, or of p without one
};

/// Empty where the scores are others, are halves, or the softmax is over another axis.
std::optional<AttentionScores> match_scores(const ir::Node& softmax);

/// The product of p [batch.., t, s] and v [batch.., s, e], if `dot` is that.
std::optional<AttentionProduct> match_result(const ir::Node& dot, const ir::Node& softmax);

/// `value`, whose axes are in the node's order, in the formula's order; and back.
ir::Value in_order(const ir::Value& value, const ir::Ints& axes);
ir::Value out_of_order(const ir::Value& value, const ir::Ints& axes);
/// `value` with other batch dims, and as many elements.
ir::Value with_batch(const ir::Value& value, const ir::Dims& batch);

}  // namespace kiln::passes
