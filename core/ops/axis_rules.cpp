// Axis rules that several ops share, and the rule of ops that have none of their own.
#include "core/ops/axis_rules.h"

#include <algorithm>

namespace kiln::ir {

int same_axis(const Node&, std::size_t, int axis) { return axis; }

int axis_unless_own(const Node& node, std::size_t, int axis) {
  return node.as<AxisAttrs>().axis == axis ? kNoAxis : axis;
}

int axis_before_reduction(const Node& node, std::size_t, int axis) {
  const Ints& dropped = node.as<AxesAttrs>().axes;  // ascending
  for (const std::int64_t other : dropped) axis += other <= axis;
  return axis;
}

int axis_in(const Ints& list, std::int64_t element) {
  const auto found = std::find(list.begin(), list.end(), element);
  return found == list.end() ? kNoAxis : static_cast<int>(found - list.begin());
}

int operand_axis(const Node& node, std::size_t operand, int axis) {
  const OpDef& d = def(node);
  if (d.operand_axis != nullptr) return d.operand_axis(node, operand, axis);
  return d.lowering == Lowering::Elementwise ? axis : kNoAxis;
}

}  // namespace kiln::ir
