// Walks from the results to the operands and carries along which axis of a value has the samples.
#include "core/k/sequence/step_operands.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

using ir::kNoAxis;
using ir::Node;
using ir::Value;

/// The axis of samples of each value; kNoAxis where two uses disagree or any element of the value
/// may affect any row of the results.
using SampleAxes = std::unordered_map<Value, int, ir::ValueHash>;

void note(SampleAxes& axes, const Value& value, int axis) {
  const auto [entry, is_new] = axes.emplace(value, axis);
  if (!is_new && entry->second != axis) entry->second = kNoAxis;
}

}  // namespace

StepOperands operands_of_step(std::span<const Value> results, std::span<const Value> arguments,
                              const ir::Trace& trace) {
  const std::unordered_set<Value, ir::ValueHash> given(arguments.begin(), arguments.end());
  const auto is_leaf = [&](const Value& value) {
    return given.count(value) != 0 || !trace.contains(*value.node);
  };
  const std::vector<const Node*> order = ir::topological_order(results, is_leaf);
  SampleAxes axes;
  for (const Value& result : results) note(axes, result, 0);
  std::vector<Value> leaves(results.begin(), results.end());
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    // All uses of the node have been visited.
    const bool is_single = (*node)->types.size() == 1;
    const int axis = is_single ? axes.at((*node)->result()) : kNoAxis;
    for (std::size_t i = 0; i < (*node)->operands.size(); ++i) {
      const Value& operand = (*node)->operands[i];
      note(axes, operand, axis == kNoAxis ? kNoAxis : ir::operand_axis(**node, i, axis));
      leaves.push_back(operand);
    }
  }
  StepOperands found;
  std::unordered_set<Value, ir::ValueHash> seen;
  for (const Value& leaf : leaves) {
    if (!is_leaf(leaf) || given.count(leaf) != 0 || !seen.insert(leaf).second) continue;
    (axes.at(leaf) == 0 ? found.rows : found.shared).push_back(leaf);
  }
  return found;
}

}  // namespace kiln
