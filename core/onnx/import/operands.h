// Conversions of operands that several import functions share.
#pragma once

#include "core/onnx/import/node_context.h"

#include <utility>

namespace kiln::onnx {

/// Imports an elementwise op of one operand, of the graph or of K.
template <ir::Op op>
std::vector<ir::Value> unary(NodeContext& node) {
  return {ir::unary(op, node.input(0))};
}
template <Tensor (*function)(const Operand&)>
std::vector<ir::Value> k_unary(NodeContext& node) {
  return {value_of(function(node.tensor(0)), "x")};
}

/// Inputs 0 and 1, broadcast by NumPy's rules; before opset 7 by the attributes `broadcast` and
/// `axis`.
std::pair<ir::Value, ir::Value> broadcast_inputs(NodeContext& node);
/// The same for values.
std::pair<ir::Value, ir::Value> broadcast_with_axis(NodeContext& node, const ir::Value& x,
                                                    const ir::Value& y);

/// x as the element type of this number in onnx.proto. Throws TypeError for one that Kiln lacks.
ir::Value cast_to(const ir::Value& x, std::int64_t data_type);

/// A vector as a tensor of this rank that broadcasts along `axis`: dims 1 but for the axis.
ir::Value along_axis(const ir::Value& vector, int axis, int rank);

/// x with `dims`, which guards require its own to equal. Throws ValueError, which calls x `name`,
/// for another rank or a size that is known to differ.
ir::Value fitted_operand(const NodeContext& node, const ir::Value& x, const ir::Dims& dims,
                         const char* name);

/// The only element of input i. Throws ValueError, which calls it `name`, unless it is known.
std::int64_t known_integer(NodeContext& node, std::size_t i, const char* name);

}  // namespace kiln::onnx
