// Axis rules that several ops share (OpDef::operand_axis). Included by definitions only.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// All operands have the axes of the result.
int same_axis(const Node& node, std::size_t operand, int axis);
/// The same, except for the axis of AxisAttrs, whose entries are combined.
int axis_unless_own(const Node& node, std::size_t operand, int axis);
/// The result lacks the axes of AxesAttrs.
int axis_before_reduction(const Node& node, std::size_t operand, int axis);
/// The position of `element` in the list; kNoAxis if it is not in it.
int axis_in(const Ints& list, std::int64_t element);

}  // namespace kiln::ir
