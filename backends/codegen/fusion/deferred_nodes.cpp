// One sweep that counts uses, and one that finds the only consumers.
#include "backends/codegen/fusion/deferred_nodes.h"

#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

bool is_computed_elementwise(const Node& node, const SizeNames& names, const FusionPlan& plan) {
  return def(node).lowering == ir::Lowering::Elementwise && !is_leaf(node) && !is_alias(node) &&
         !is_view(node, names) && !plan.rematerialised.contains(&node);
}

bool reads_only_leaves(const Node& node, const SizeNames& names, const FusionPlan& plan) {
  return std::all_of(node.operands.begin(), node.operands.end(), [&](const Value& operand) {
    const View view = trace(operand, identity_map(names(operand.dims())), names, plan);
    return is_leaf(*view.source.node);
  });
}

}  // namespace

std::unordered_set<const Node*> deferred_nodes(const std::vector<const Node*>& order,
                                               const SizeNames& names, const FusionPlan& plan) {
  ir::NodeMap<int> uses(order.size());
  for (const Node* node : order) {
    for (const Value& operand : node->operands) ++uses[operand.node.get()];
  }
  std::unordered_set<const Node*> deferred;
  for (const Node* node : order) {
    if (!is_computed_elementwise(*node, names, plan)) continue;
    for (const Value& operand : node->operands) {
      const Node& producer = *operand.node;
      const bool only_here = uses.at(&producer) == 1 &&
                             is_computed_elementwise(producer, names, plan) &&
                             plan.dense.count(operand) == 0;
      if (only_here && reads_only_leaves(producer, names, plan) &&
          !reads_only_leaves(*node, names, plan)) {
        deferred.insert(&producer);
      }
    }
  }
  return deferred;
}

}  // namespace kiln::codegen
