// A permutation of a tensor that a kernel reads is a view, which costs no kernel and no memory.
#include "backends/codegen/graph/raise_permutes.h"

#include "backends/codegen/graph/permutations.h"
#include "core/ir/origin.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"

#include <optional>
#include <unordered_map>

namespace kiln::codegen {
namespace {

using ir::Ints;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

/// The tensors of the result's size that a kernel reads permuted, at most: each costs shuffles.
constexpr int kMaxPermuted = 2;
/// The nodes that are built anew, at most.
constexpr int kMaxRaised = 64;

class Raiser {
 public:
  explicit Raiser(const std::vector<Value>& results) {
    for (const Node* node : ir::topological_order(results)) {
      for (const Value& operand : node->operands) ++uses_[operand.node.get()];
    }
    for (const Value& result : results) ++uses_[result.node.get()];
  }

  Value raised(const Value& result) {
    const Node& node = *result.node;
    if (node.op == Op::Reshape && is_used_once(node)) {
      const Value inner = raised(node.operands[0]);
      const ir::OriginScope scope(node.origin, /*replace=*/true);
      return inner == node.operands[0] ? result : ir::reshape(inner, node.types[0].dims);
    }
    if (node.op != Op::Permute || !is_used_once(node)) return result;
    const Value& operand = node.operands[0];
    if (!is_raised_past(*operand.node)) return result;
    permuted_ = raised_ = 0;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    std::optional<Value> next = permuted(operand, node.as<ir::AxesAttrs>().axes);
    return next ? *next : result;
  }

 private:
  bool is_used_once(const Node& node) const { return uses_.at(&node) == 1; }

  bool is_raised_past(const Node& node) const {
    return def(node).lowering == ir::Lowering::Elementwise && is_used_once(node);
  }

  /// The value, permuted where it is read; nullopt if that costs too much.
  std::optional<Value> permuted(const Value& value, const Ints& axes) {
    const Node& node = *value.node;
    if (node.op == Op::Broadcast) return permuted_broadcast(value, axes);
    if (!is_raised_past(node)) {
      if (++permuted_ > kMaxPermuted || is_product(value)) return std::nullopt;
      if (node.op != Op::Permute) return ir::permute(value, axes);
      return ir::permute(node.operands[0], composed(node.as<ir::AxesAttrs>().axes, axes));
    }
    if (++raised_ > kMaxRaised) return std::nullopt;
    std::vector<Value> operands;
    for (const Value& operand : node.operands) {
      std::optional<Value> own = permuted(operand, axes);
      if (!own) return std::nullopt;
      operands.push_back(std::move(*own));
    }
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    return ir::make(node.op, node.attrs, operands);
  }

  /// Whether the value is a library's, whose epilogue may take what follows.
  static bool is_product(const Value& value) {
    const Node* node = value.node.get();
    while (node->op == Op::Reshape || node->op == Op::Permute) node = node->operands[0].node.get();
    return def(*node).lowering == ir::Lowering::Contraction || node->op == Op::Conv;
  }

  std::unordered_map<const Node*, int> uses_;
  int permuted_ = 0, raised_ = 0;  // of the present result
};

std::vector<Value> raised_results(const std::vector<Value>& results) {
  Raiser raiser(results);
  std::vector<Value> next;
  for (const Value& result : results) next.push_back(raiser.raised(result));
  return next;
}

}  // namespace

std::vector<Value> raise_permutes(const std::vector<Value>& results, const LibraryClaims* library) {
  const auto of_body = [&](const std::vector<Value>& body) {
    return raise_permutes(body, library);
  };
  return raised_results(ir::rewrite_nodes(results, [&](const NodeRef& node) {
    return ir::results_of(ir::change_lambdas(node, of_body));
  }));
}

}  // namespace kiln::codegen
