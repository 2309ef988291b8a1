// Batches by lowering class: elementwise ops as they are, axes and labels shifted by one.
#include "core/passes/batching.h"

#include "core/ops/build.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::Value;
using Batched = std::optional<std::vector<Value>>;

Ints shifted(const Ints& axes) {
  Ints result = axes;
  for (std::int64_t& axis : result) ++axis;
  return result;
}

Dims with_length(const Dims& dims, const ir::Dim& length) {
  Dims result = dims;
  result.insert(result.begin(), length);
  return result;
}

/// The operand with the leading axis; an unbatched one is broadcast.
Value stacked(const BatchOperand& operand, const ir::Dim& length) {
  if (operand.stacked) return operand.value;
  Ints axes = shifted(ir::all_axes(operand.value));
  return ir::broadcast(operand.value, with_length(operand.value.dims(), length), axes);
}

Value batch_dot(const Node& node, const std::vector<BatchOperand>& operands) {
  const auto& attrs = node.as<ir::DotAttrs>();
  Ints labels[3] = {shifted(attrs.lhs), shifted(attrs.rhs), shifted(attrs.result)};
  for (int i = 0; i < 2; ++i) {
    if (operands[static_cast<std::size_t>(i)].stacked) labels[i].insert(labels[i].begin(), 0);
  }
  labels[2].insert(labels[2].begin(), 0);
  return ir::dot(operands[0].value, labels[0], operands[1].value, labels[1], labels[2]);
}

/// Movement ops of one operand whose attributes name axes or dims.
Batched batch_movement(const Node& node, const Value& x, const ir::Dim& length) {
  switch (node.attrs.index()) {
    case ir::attrs_kind<ir::DimsAttrs>():
      return {{ir::reshape(x, with_length(node.as<ir::DimsAttrs>().dims, length))}};
    case ir::attrs_kind<ir::BroadcastAttrs>(): {
      const auto& attrs = node.as<ir::BroadcastAttrs>();
      Ints axes = shifted(attrs.axes);
      axes.insert(axes.begin(), 0);
      return {{ir::broadcast(x, with_length(attrs.dims, length), axes)}};
    }
    case ir::attrs_kind<ir::SliceAttrs>(): {
      const auto& attrs = node.as<ir::SliceAttrs>();
      Ints step = attrs.step;
      step.insert(step.begin(), 1);
      return {{ir::slice(x, with_length(attrs.start, 0), with_length(attrs.limit, length), step)}};
    }
    default: return std::nullopt;
  }
}

/// Ops with an axes attribute: reductions, Reverse and Permute.
Value batch_axes(const Node& node, const Value& x) {
  Ints axes = shifted(node.as<ir::AxesAttrs>().axes);
  if (node.op == ir::Op::Permute) axes.insert(axes.begin(), 0);
  return ir::make(node.op, ir::AxesAttrs{axes}, {x});
}

Batched batch_axis(const Node& node, const std::vector<BatchOperand>& operands,
                   const ir::Dim& length) {
  const std::int64_t axis = node.as<ir::AxisAttrs>().axis;
  if (node.op == ir::Op::Gather) {
    // Batched indices into one reference: their leading axis is the first of the result for axis 0
    // only.
    if (operands[0].stacked || axis != 0) return std::nullopt;
    return {{ir::gather(operands[0].value, operands[1].value, 0)}};
  }
  std::vector<Value> values;
  for (const BatchOperand& operand : operands) values.push_back(stacked(operand, length));
  return {{ir::make(node.op, ir::AxisAttrs{axis + 1}, std::move(values))}};
}

}  // namespace

Batched batch_node(const Node& node, const std::vector<BatchOperand>& operands,
                   const ir::Dim& length) {
  const ir::OpDef& d = def(node);
  if (d.reads_state) return std::nullopt;
  const ir::OriginScope scope(node.origin, /*replace=*/true);
  if (d.lowering == ir::Lowering::Elementwise) {
    std::vector<Value> values;
    for (const BatchOperand& operand : operands) values.push_back(stacked(operand, length));
    return {{ir::make(node.op, node.attrs, std::move(values))}};
  }
  if (d.lowering == ir::Lowering::Contraction) return {{batch_dot(node, operands)}};
  if (std::holds_alternative<ir::AxesAttrs>(node.attrs)) {
    return {{batch_axes(node, operands[0].value)}};
  }
  if (std::holds_alternative<ir::AxisAttrs>(node.attrs)) {
    return batch_axis(node, operands, length);
  }
  if (d.lowering == ir::Lowering::Movement && operands.size() == 1) {
    return batch_movement(node, operands[0].value, length);
  }
  return std::nullopt;
}

}  // namespace kiln::passes
