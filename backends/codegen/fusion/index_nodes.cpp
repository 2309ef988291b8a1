// Computes the longest chain of operations below each node, operands first.
#include "backends/codegen/fusion/index_nodes.h"

#include "backends/codegen/access/view.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;

/// A longer chain of operations is computed once and stored: reading a position and a weight costs
/// less than the 15 steps to those of a resized image. Scalars stay, as a kernel computes them
/// once.
constexpr int kMaxSteps = 8, kMaxScalarSteps = 16;
/// A division takes as long as several other steps.
constexpr int kDivisionSteps = 4;

using Steps = ir::NodeMap<int>;

/// The longest chain of operations below the node; 0 when it depends on other values than indices,
/// sizes and constants, or when the chain is too long.
int steps_of(const Node& node, const SizeNames& names, const Steps& steps) {
  if (node.op == Op::Iota || node.op == Op::DimSize) return 1;
  const bool plain = def(node).lowering == ir::Lowering::Elementwise || is_view(node, names);
  if (!plain || node.operands.empty()) return 0;
  int most = 1;
  for (const ir::Value& operand : node.operands) {
    if (operand.node->op == Op::Constant && operand.rank() == 0) continue;
    const int* found = steps.find(operand.node.get());
    if (!found) return 0;
    most = std::max(most, *found);
  }
  const bool divides = node.op == Op::Div || node.op == Op::Mod;
  most += divides ? kDivisionSteps : 1;
  return most <= (node.types[0].dims.empty() ? kMaxScalarSteps : kMaxSteps) ? most : 0;
}

}  // namespace

ir::NodeSet index_nodes(const std::vector<const Node*>& order, const SizeNames& names) {
  Steps steps;
  ir::NodeSet found;
  for (const Node* node : order) {
    const int count = steps_of(*node, names, steps);
    if (count == 0) continue;
    steps.emplace(node, count);
    found.insert(node);
  }
  return found;
}

}  // namespace kiln::codegen
