// The expansion of a composite is part of its OpDef. An attention that a claim takes is expanded
// anyway where its gradient is, since both then share the probabilities.
#include "backends/codegen/graph/expand_composites.h"

#include "core/ir/lambda.h"
#include "core/ir/node_map.h"
#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/op.h"

namespace kiln::codegen {
namespace {

constexpr std::uint32_t kBiasCotangent = 3;  // of the results of attention_gradient

/// Attentions and gradients that are expanded although a claim takes them, with the reason.
class ExpandedAttentions {
 public:
  ExpandedAttentions(const std::vector<const ir::Node*>& nodes,
                     const std::vector<ir::Value>& results, const LibraryClaims* library) {
    for (const ir::Node* node : nodes) {
      for (const ir::Value& operand : node->operands) note_read(operand);
    }
    for (const ir::Value& result : results) note_read(result);
    for (const ir::Node* node : nodes) {
      if (node->op != ir::Op::AttentionGradient) continue;
      const bool is_read = read_cotangents_.contains(node);
      if (is_read) gradients_.insert(node);
      if (!is_read && is_taken(*node, library)) continue;
      const ir::Node& forward = *node->operands.end()[-2].node;
      if (forward.op == ir::Op::Attention) forwards_.insert(&forward);
    }
  }

  bool contains(const ir::Node& node) const { return reason(node) != nullptr; }
  /// Null for another node.
  const char* reason(const ir::Node& node) const {
    if (gradients_.contains(&node)) return "the cotangent of the bias is read";
    if (!forwards_.contains(&node)) return nullptr;
    return "its gradient is expanded and computes the same probabilities";
  }

 private:
  void note_read(const ir::Value& value) {
    if (value.node->op != ir::Op::AttentionGradient || value.index != kBiasCotangent) return;
    read_cotangents_.insert(value.node.get());
  }

  ir::NodeSet read_cotangents_;  // gradients whose cotangent of the bias is read
  ir::NodeSet gradients_, forwards_;
};

}  // namespace

std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const LibraryClaims* library) {
  const std::vector<const ir::Node*> order = ir::topological_order(results);
  const ExpandedAttentions expanded(order, results, library);
  std::size_t next = 0;  // the rewrite visits the nodes in this order
  const auto change = [&](const ir::NodeRef& node) -> std::vector<ir::Value> {
    const ir::Node* const original = order[next++];
    const ir::OpDef& d = def(*node);
    const bool expands = d.expand && (expanded.contains(*original) || !is_taken(*node, library));
    return expands ? d.expand(*node, node->operands) : ir::results_of(node);
  };
  return rewrite_everywhere(results, library, expand_composites, change);
}

std::vector<ClaimDecision> rejected_composites(const std::vector<ir::Value>& results,
                                               const SizeNames& names,
                                               const LibraryClaims* library) {
  std::vector<ClaimDecision> rejected;
  const std::vector<const ir::Node*> order = ir::topological_order(results);
  const ExpandedAttentions expanded(order, results, library);
  for (const ir::Node* node : order) {
    ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
      for (ClaimDecision& one : rejected_composites(lambda.results, names, library)) {
        rejected.push_back(std::move(one));
      }
    });
    if (!def(*node).expand) continue;
    ClaimDecision decision = decide(*node, names, library);
    if (decision.taken_by && expanded.contains(*node)) {
      decision.rejections.push_back({decision.taken_by, expanded.reason(*node)});
      decision.taken_by = nullptr;
    }
    if (!decision.rejections.empty() && !decision.taken_by) rejected.push_back(std::move(decision));
  }
  return rejected;
}

}  // namespace kiln::codegen
