// Walks from the softmax to the matmul of queries and keys; labels of matmuls say which axis is
// which.
#include "core/passes/attention_match.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::Op;
using ir::Value;

std::int64_t index_of(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

bool has(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// The axes in `labels` of each of `wanted`; empty if one is missing or there are others.
std::optional<Ints> axes_of(const Ints& labels, const Ints& wanted) {
  if (labels.size() != wanted.size()) return std::nullopt;
  Ints axes;
  for (const std::int64_t label : wanted) {
    if (!has(labels, label)) return std::nullopt;
    axes.push_back(index_of(labels, label));
  }
  return axes;
}

/// Whether the last two dims of two values agree, so that a reshape from one to the other changes
/// batch axes alone, and not their product: that of no elements may.
bool keeps_matrices(const Value& x, const Value& y) {
  if (x.rank() < 2 || y.rank() < 2) return false;
  const auto same = [&](std::ptrdiff_t i) {
    const Dim &a = x.dims().end()[i], &b = y.dims().end()[i];
    return equal(a, b) == ir::Ternary::Yes && equal(a, Dim(0)) != ir::Ternary::Yes;
  };
  return same(-1) && same(-2);
}

/// x of broadcast(x), where x is a scalar.
const Value* scalar_of(const Value& value) {
  if (value.node->op != Op::Broadcast || value.node->operands[0].rank() != 0) return nullptr;
  return &value.node->operands[0];
}

/// The operand of a broadcast, with an axis of size 1 for each that it lacks.
Value bias_of(const Value& value) {
  if (value.node->op != Op::Broadcast) return value;
  const Value& operand = value.node->operands[0];
  const Ints& axes = value.node->as<ir::BroadcastAttrs>().axes;
  Dims dims(at(value.rank()), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) dims[at(axes[i])] = operand.dims()[i];
  return ir::reshape(operand, dims);
}

/// Whether the scale or the bias is computed from the matmul itself. The cotangent of the matmul
/// then has a part that attention_gradient lacks.
bool depends_on_matmul(const AttentionScores& scores) {
  std::vector<Value> others;
  for (const Value& one : {scores.scale, scores.bias}) {
    if (one) others.push_back(one);
  }
  const std::vector<const Node*> order = ir::topological_order(others);
  return std::find(order.begin(), order.end(), scores.raw.node) != order.end();
}

std::optional<AttentionMatmul> raw_matmul(const Value& value) {
  if (value.node->op != Op::Dot || value.rank() < 2) return std::nullopt;
  const auto& attrs = value.node->as<ir::DotAttrs>();
  const std::int64_t t = attrs.result.end()[-2], s = attrs.result.back();
  AttentionMatmul matmul;
  matmul.node = value.node.get();
  matmul.left = has(attrs.lhs, t) ? 0 : 1;
  const Ints& left = matmul.left == 0 ? attrs.lhs : attrs.rhs;
  const Ints& right = matmul.left == 0 ? attrs.rhs : attrs.lhs;
  Ints summed;
  for (const std::int64_t label : left) {
    if (!has(attrs.result, label)) summed.push_back(label);
  }
  if (summed.size() != 1) return std::nullopt;
  Ints queries(attrs.result.begin(), attrs.result.end() - 2), keys = queries;
  queries.insert(queries.end(), {t, summed[0]});
  keys.insert(keys.end(), {s, summed[0]});
  const auto left_axes = axes_of(left, queries), right_axes = axes_of(right, keys);
  if (!left_axes || !right_axes) return std::nullopt;
  matmul.left_axes = *left_axes;
  matmul.right_axes = *right_axes;
  for (std::size_t i = 0; i < attrs.result.size(); ++i) {
    matmul.result_axes.push_back(static_cast<std::int64_t>(i));
  }
  return matmul;
}

/// Walks to the producers of the scores.
class ScoreWalk {
 public:
  std::optional<AttentionScores> run(const Value& scores) {
    found_.batch = batch_of(scores);
    Value value = scores;
    while (const std::optional<Value> next = step(value)) {
      const Value following = *next;
      value = following;
    }
    const auto matmul = raw_matmul(value);
    if (!matmul) return std::nullopt;
    found_.raw = *matmul;
    if (depends_on_matmul(found_)) return std::nullopt;
    return found_;
  }

 private:
  static Dims batch_of(const Value& value) {
    return {value.dims().begin(), value.dims().end() - 2};
  }

  /// The operand of a reshape of batch axes, of the scaling, or of the sum with the bias.
  std::optional<Value> step(const Value& value) {
    const Node& node = *value.node;
    switch (node.op) {
      case Op::Reshape:
        if (!keeps_matrices(value, node.operands[0])) return std::nullopt;
        return node.operands[0];
      case Op::Add: return addend(value);
      case Op::Mul:
      case Op::Div: return scaled(node);
      default: return std::nullopt;
    }
  }

  /// Takes the operand that leads to a matmul for the scores, the other one for the bias.
  std::optional<Value> addend(const Value& value) {
    const Node& node = *value.node;
    if (found_.bias || found_.scale) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      if (!leads_to_matmul(node.operands[i])) continue;
      found_.bias = bias_of(node.operands[1 - i]);
      found_.batch = batch_of(value);
      return node.operands[i];
    }
    return std::nullopt;
  }

  static bool leads_to_matmul(Value value) {
    for (int steps = 0; steps < 4; ++steps) {
      const Node& node = *value.node;
      if (raw_matmul(value)) return true;
      const bool is_first = node.op == Op::Reshape || node.op == Op::Div ||
                            (node.op == Op::Mul && scalar_of(node.operands[1]) != nullptr);
      const bool is_second = node.op == Op::Mul && scalar_of(node.operands[0]) != nullptr;
      if (!is_first && !is_second) return false;
      const Value next = node.operands[is_first ? 0 : 1];
      value = next;
    }
    return false;
  }

  std::optional<Value> scaled(const Node& node) {
    if (found_.scale) return std::nullopt;
    const bool multiplies = node.op == Op::Mul;
    for (const std::size_t i : {1, 0}) {
      const Value* const scale = scalar_of(node.operands[i]);
      if (scale == nullptr || (i == 0 && !multiplies)) continue;
      found_.scale = *scale;
      found_.divides = !multiplies;
      return node.operands[1 - i];
    }
    return std::nullopt;
  }

  AttentionScores found_;
};

}  // namespace

std::optional<AttentionScores> match_scores(const Node& softmax) {
  const Value& scores = softmax.operands[0];
  const bool is_last = softmax.as<ir::AxisAttrs>().axis == scores.rank() - 1;
  // Halves round the scores and the probabilities, which attention does not.
  if (scores.rank() < 2 || !is_last || ir::is_half(scores.dtype())) return std::nullopt;
  return ScoreWalk().run(scores);
}

std::optional<AttentionMatmul> match_result(const Node& dot, const Node& softmax) {
  if (dot.op != Op::Dot) return std::nullopt;
  const auto& attrs = dot.as<ir::DotAttrs>();
  const Value p = softmax.result();
  AttentionMatmul matmul;
  matmul.node = &dot;
  matmul.left = dot.operands[0] == p ? 0 : 1;
  if (dot.operands[0] == dot.operands[1] || dot.operands[matmul.left] != p) return std::nullopt;
  const Ints& left = matmul.left == 0 ? attrs.lhs : attrs.rhs;
  const Ints& right = matmul.left == 0 ? attrs.rhs : attrs.lhs;
  Ints batch(left.begin(), left.end() - 2);
  Ints others;
  for (const std::int64_t label : right) {
    if (!has(left, label)) others.push_back(label);
  }
  if (others.size() != 1) return std::nullopt;
  Ints values = batch, results = batch;
  values.insert(values.end(), {left.back(), others[0]});
  results.insert(results.end(), {left.end()[-2], others[0]});
  const auto right_axes = axes_of(right, values), result_axes = axes_of(attrs.result, results);
  if (!right_axes || !result_axes) return std::nullopt;
  for (std::size_t i = 0; i < left.size(); ++i) {
    matmul.left_axes.push_back(static_cast<std::int64_t>(i));
  }
  matmul.right_axes = *right_axes;
  matmul.result_axes = *result_axes;
  return matmul;
}

Value in_order(const Value& value, const Ints& axes) { return ir::permute(value, axes); }

Value out_of_order(const Value& value, const Ints& axes) {
  return ir::permute(value, ir::inverse_permutation(axes));
}

Value with_batch(const Value& value, const Dims& batch) {
  Dims dims = batch;
  dims.insert(dims.end(), value.dims().end() - 2, value.dims().end());
  return ir::reshape(value, dims);
}

}  // namespace kiln::passes
