// Depth-first search with an explicit stack: graphs may be a million nodes deep.
#include "core/ir/traverse.h"

#include "core/ir/node_map.h"

namespace kiln::ir {

std::vector<const Node*> topological_order(std::span<const Value> roots) {
  return topological_order(roots, StopAt());
}

std::vector<const Node*> topological_order(std::span<const Value> roots, const StopAt& stop) {
  struct Entry {
    const Node* node;
    std::size_t next_operand;
  };
  std::vector<const Node*> order;
  NodeSet seen;
  std::vector<Entry> stack;
  for (const Value& root : roots) {
    if (!root || (stop && stop(root)) || !seen.insert(root.node.get())) continue;
    stack.push_back({root.node.get(), 0});
    while (!stack.empty()) {
      Entry& top = stack.back();
      if (top.next_operand == top.node->operands.size()) {
        order.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const Value& operand = top.node->operands[top.next_operand++];
      if (stop && stop(operand)) continue;
      if (seen.insert(operand.node.get())) stack.push_back({operand.node.get(), 0});
    }
  }
  return order;
}

bool reaches(std::span<const Value> roots, Op op) {
  for (const Node* node : topological_order(roots)) {
    bool found = node->op == op;
    for_each_lambda(*node,
                    [&](const Lambda& lambda) { found = found || reaches(lambda.results, op); });
    if (found) return true;
  }
  return false;
}

UseCounts count_uses(std::span<const Node* const> order, std::span<const Value> roots) {
  UseCounts uses;
  for (const Node* node : order) {
    for (const Value& operand : node->operands) ++uses[operand];
  }
  for (const Value& root : roots) {
    if (root) ++uses[root];
  }
  return uses;
}

void for_each_lambda(const Node& node, const std::function<void(const Lambda&)>& visit) {
  for_each_field(node.attrs, [&](const char*, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, LambdaRef>) visit(*member);
  });
}

}  // namespace kiln::ir
