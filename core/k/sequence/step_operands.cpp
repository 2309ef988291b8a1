// Walks from the results to the operands and carries along which axis of a value has the samples.
#include "core/k/sequence/step_operands.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// No axis: any element of the value may affect any row of the results.
constexpr int kNoAxis = -1;

int position_in(const ir::Ints& list, std::int64_t element) {
  const auto found = std::find(list.begin(), list.end(), element);
  return found == list.end() ? kNoAxis : static_cast<int>(found - list.begin());
}

/// The axis of the operand of a reduction that becomes axis `axis` of its result.
int axis_before_reduction(const ir::Ints& reduced, int axis) {
  for (const std::int64_t dropped : reduced) axis += dropped <= axis;  // ascending
  return axis;
}

int axis_of_gathered(const Node& node, std::size_t operand, int axis) {
  const int first = static_cast<int>(node.as<ir::AxisAttrs>().axis);
  const int end = first + node.operands[1].rank();
  if (axis >= first && axis < end) return operand == 1 ? axis - first : kNoAxis;
  if (operand == 1) return kNoAxis;
  return axis < first ? axis : axis - node.operands[1].rank() + 1;
}

int axis_of_broadcast(const Node& node, int axis) {
  const int before = position_in(node.as<ir::BroadcastAttrs>().axes, axis);
  if (before == kNoAxis) return kNoAxis;
  const Value& x = node.operands[0];
  const bool is_stretched = x.dims()[static_cast<std::size_t>(before)].is_one() &&
                            !node.types[0].dims[static_cast<std::size_t>(axis)].is_one();
  return is_stretched ? kNoAxis : before;
}

/// The axis of an operand whose entry r alone affects entry r along `axis` of the result, for each
/// r; kNoAxis where there is none, or for an op that is not understood.
int axis_of_operand(const Node& node, std::size_t operand, int axis) {
  const Value& x = node.operands[operand];
  const auto at = static_cast<std::size_t>(axis);
  switch (node.op) {
    case Op::Identity:
    case Op::StopGradient:
    case Op::ScaleGradient:
    case Op::Require: return axis;
    case Op::Sum:
    case Op::Prod:
    case Op::Max:
    case Op::Min:
    case Op::Variance: return axis_before_reduction(node.as<ir::AxesAttrs>().axes, axis);
    case Op::ArgMax: return axis_before_reduction({node.as<ir::AxisAttrs>().axis}, axis);
    case Op::CumSum:
    case Op::CumProd:
    case Op::Concat:
    case Op::Softmax:
    case Op::LogSoftmax: return node.as<ir::AxisAttrs>().axis == axis ? kNoAxis : axis;
    case Op::Reverse:
      return position_in(node.as<ir::AxesAttrs>().axes, axis) == kNoAxis ? axis : kNoAxis;
    case Op::Permute: return static_cast<int>(node.as<ir::AxesAttrs>().axes[at]);
    case Op::Reshape: {
      const bool keeps_rows = axis == 0 && x.rank() > 0 &&
                              equal(x.dims()[0], node.types[0].dims[0]) == ir::Ternary::Yes;
      return keeps_rows ? 0 : kNoAxis;
    }
    case Op::Broadcast: return axis_of_broadcast(node, axis);
    case Op::Slice: {
      const auto& attrs = node.as<ir::SliceAttrs>();
      const bool is_whole =
          attrs.start[at] == ir::Dim(0) && attrs.limit[at] == x.dims()[at] && attrs.step[at] == 1;
      return is_whole ? axis : kNoAxis;
    }
    case Op::Gather: return axis_of_gathered(node, operand, axis);
    case Op::Dot: {
      const auto& attrs = node.as<ir::DotAttrs>();
      return position_in(operand == 0 ? attrs.lhs : attrs.rhs, attrs.result[at]);
    }
    default: return ir::def(node).lowering == ir::Lowering::Elementwise ? axis : kNoAxis;
  }
}

/// The axis of samples of each value; kNoAxis where two uses disagree.
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
      note(axes, operand, axis == kNoAxis ? kNoAxis : axis_of_operand(**node, i, axis));
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
