// Guesses the operands of an attention from its softmax. For the gradient, builds what reverse-mode
// differentiation makes of the forward nodes and compares: equal nodes are the same pointers.
#include "core/passes/find_attention.h"

#include "core/autodiff/vjp.h"
#include "core/ir/node_map.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/attention_match.h"
#include "core/passes/simplify.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

/// The readers of each node.
class Readers {
 public:
  explicit Readers(const std::vector<Value>& roots) : order_(ir::topological_order(roots)) {
    for (const Node* node : order_) {
      nodes_.insert(node);
      for (const Value& operand : node->operands) readers_[operand.node.get()].push_back(node);
    }
    for (const Value& root : roots) roots_.insert(root.node.get());
  }

  const std::vector<const Node*>& order() const { return order_; }
  bool contains(const Node* node) const { return nodes_.contains(node); }
  const std::vector<const Node*>& of(const Node& node) const {
    const auto found = readers_.find(&node);
    return found == readers_.end() ? none_ : found->second;
  }
  /// Whether no root depends on the node by a path without a node of `replaced`. Looks a few
  /// readers ahead: a gradient of the scores is not far.
  bool is_dead(const Node& node, const ir::NodeSet& replaced, int depth = 8) const {
    if (replaced.contains(&node)) return true;
    if (depth == 0 || roots_.contains(&node)) return false;
    const std::vector<const Node*>& readers = of(node);
    return std::all_of(readers.begin(), readers.end(),
                       [&](const Node* reader) { return is_dead(*reader, replaced, depth - 1); });
  }

 private:
  std::vector<const Node*> order_;
  std::unordered_map<const Node*, std::vector<const Node*>> readers_;
  const std::vector<const Node*> none_;
  ir::NodeSet nodes_, roots_;
};

/// One attention of a graph.
class Finder {
 public:
  Finder(const Node& softmax, const Readers& readers) : p_(softmax), readers_(readers) {}

  /// The values that its results replace; empty if there is none.
  ir::Replacements run() {
    const auto scores = match_scores(p_);
    if (!scores) return {};
    scores_ = *scores;
    for (const Node* reader : readers_.of(p_)) {
      const auto result = match_result(*reader, p_);
      if (!result) continue;
      result_ = *result;
      replace_forward();
      if (readers_.of(p_).size() > 1) replace_gradient();
      if (readers_.is_dead(p_, replaced_)) return std::move(replacements_);
      return {};
    }
    return {};
  }

 private:
  void replace(const Value& value, const Value& by) {
    replacements_.emplace(value, by);
    replaced_.insert(value.node.get());
  }

  /// An operand or result of a matmul as attention has it.
  Value as_operand(const Value& value, const ir::Ints& axes) const {
    return with_batch(in_order(value, axes), scores_.batch);
  }
  /// The reverse, for a value like `like`.
  static Value as_value(const Value& operand, const ir::Ints& axes, const Value& like) {
    ir::Dims dims;
    for (const std::int64_t axis : axes)
      dims.push_back(like.dims()[static_cast<std::size_t>(axis)]);
    return out_of_order(ir::reshape(operand, dims), axes);
  }

  void replace_forward() {
    const AttentionMatmul& raw = scores_.raw;
    const ir::OriginScope scope(p_.origin, /*replace=*/true);
    const Value q = as_operand(raw.left_operand(), raw.left_axes);
    const Value scale = scores_.scale ? scores_.scale : ir::scalar_constant(q.dtype(), 1);
    attention_ = ir::attention(q, as_operand(raw.right_operand(), raw.right_axes),
                               as_operand(result_.right_operand(), result_.right_axes), scale,
                               scores_.bias, {.divides = scores_.divides, .causal = false});
    const Value o = result_.node->result();
    replace(o, as_value(attention_, result_.result_axes, o));
  }

  /// Tries each matmul of p as that of p and the cotangent of the result.
  void replace_gradient() {
    const Value o = result_.node->result();
    for (const Node* reader : readers_.of(p_)) {
      if (reader->op != Op::Dot || reader == result_.node) continue;
      const std::size_t side = reader->operands[0] == p_.result() ? 1 : 0;
      if (reader->operands[side].type() == o.type() && replace_gradient(reader->operands[side])) {
        return;
      }
    }
  }

  bool replace_gradient(const Value& d_result) {
    const std::array operands{scores_.raw.left_operand(), scores_.raw.right_operand(),
                              result_.right_operand()};
    const std::array<const ir::Ints*, 3> axes{&scores_.raw.left_axes, &scores_.raw.right_axes,
                                              &result_.right_axes};
    const std::vector<Value> products = vector_jacobian_products(operands, d_result);
    Value gradient;  // the first result
    for (std::size_t i = 0; i < products.size(); ++i) {
      const Value& product = products[i];
      if (!product || !readers_.contains(product.node.get())) continue;
      if (!gradient) gradient = make_gradient(d_result);
      const Value result = gradient.node->result(static_cast<std::uint32_t>(i));
      replace(product, as_value(result, *axes[i], operands[i]));
    }
    return static_cast<bool>(gradient);
  }

  Value make_gradient(const Value& d_result) const {
    const ir::OriginScope scope(result_.node->origin, /*replace=*/true);
    const Node& forward = *attention_.node;
    std::vector<Value> operands = forward.operands;
    operands.insert(operands.end(), {forward.result(0), forward.result(1),
                                     as_operand(d_result, result_.result_axes)});
    return ir::make(Op::AttentionGradient, forward.attrs, std::move(operands));
  }

  /// The cotangents of q, k and v by differentiation of the nodes from them to the result, each as
  /// if it were an argument.
  std::vector<Value> vector_jacobian_products(const std::array<Value, 3>& operands,
                                              const Value& d_result) const {
    std::vector<ir::Type> types;
    for (const Value& operand : operands) types.push_back(operand.type());
    types.push_back(d_result.type());
    const ir::LambdaBuilder builder(std::move(types));
    const std::vector<Value>& x = builder.parameters();
    ir::Replacements back;
    for (std::size_t i = 0; i < 3; ++i) back.emplace(x[i], operands[i]);
    back.emplace(x[3], d_result);
    const Value o = rebuilt(x);
    const std::vector<Value> wanted(x.begin(), x.begin() + 3);
    const std::vector<Value> dx = autodiff::vjp({&o, 1}, {&x[3], 1}, wanted).dx;
    ir::Graph graph;
    for (const Value& one : dx) {
      if (one) graph.outputs.push_back(one);
    }
    if (graph.outputs.size() != dx.size()) return {};
    return ir::replace_values(simplify(graph).outputs, back);
  }

  /// The result of other q, k and v. Operands that are one value in the graph are three here.
  Value rebuilt(std::span<const Value> x) const {
    const auto with = [](const AttentionMatmul& matmul, const Value& left, const Value& right) {
      std::vector<Value> operands{left, right};
      if (matmul.left == 1) std::swap(operands[0], operands[1]);
      return ir::make(Op::Dot, matmul.node->attrs, std::move(operands));
    };
    const Value raw = with(scores_.raw, x[0], x[1]);
    const Value p =
        ir::replace_values(std::array{p_.result()}, {{scores_.raw.node->result(), raw}})[0];
    return with(result_, p, x[2]);
  }

  const Node& p_;
  const Readers& readers_;
  AttentionScores scores_;
  AttentionMatmul result_;
  Value attention_;
  ir::Replacements replacements_;
  ir::NodeSet replaced_;
};

std::vector<Value> find_in(const std::vector<Value>& roots) {
  const std::vector<Value> inner = ir::rewrite_nodes(
      roots, [](const NodeRef& node) { return ir::results_of(ir::change_lambdas(node, find_in)); });
  const Readers readers(inner);
  ir::Replacements all;
  for (const Node* node : readers.order()) {
    if (node->op != Op::Softmax) continue;
    for (auto& [value, by] : Finder(*node, readers).run()) all.emplace(value, by);
  }
  return all.empty() ? inner : ir::replace_throughout(inner, all);
}

}  // namespace

ir::Graph find_attention(const ir::Graph& graph) {
  return ir::with_roots(graph, find_in(graph.roots()));
}

}  // namespace kiln::passes
