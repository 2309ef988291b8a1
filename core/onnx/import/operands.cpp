// Before opset 7, the second operand is aligned by an attribute.
#include "core/onnx/import/operands.h"

#include "core/onnx/file/read.h"
#include "core/types/at.h"

namespace kiln::onnx {

std::pair<ir::Value, ir::Value> broadcast_with_axis(NodeContext& node, const ir::Value& x,
                                                    const ir::Value& y) {
  const bool has_axis =
      node.opset() < 7 && node.integer("broadcast", 0) != 0 && node.has_attribute("axis");
  if (!has_axis) return broadcast_values(x, y);
  const int axis = node.axis(node.integer("axis"), x.rank());
  if (axis + y.rank() > x.rank()) {
    node.fail(text("axis ", axis, " leaves no room for the axes of y (x ", x.type(), ", y ",
                   y.type(), ")"));
  }
  ir::Dims dims = y.dims();
  dims.resize(at(x.rank() - axis), 1);
  return broadcast_values(x, ir::reshape(y, dims));
}

std::pair<ir::Value, ir::Value> broadcast_inputs(NodeContext& node) {
  return broadcast_with_axis(node, node.input(0), node.input(1));
}

ir::Value cast_to(const ir::Value& x, std::int64_t data_type) {
  const auto dtype = dtype_of(data_type);
  if (dtype) return ir::cast(x, *dtype);
  Call::type_error("path", text("elements of type ", data_type_text(data_type),
                                " are not supported (x ", x.type(), ")"));
}

ir::Value along_axis(const ir::Value& vector, int axis, int rank) {
  ir::Dims dims(at(rank), 1);
  dims[at(axis)] = product(vector.dims());
  return ir::reshape(vector, dims);
}

ir::Value fitted_operand(const NodeContext& node, const ir::Value& x, const ir::Dims& dims,
                         const char* name) {
  if (equal(x.dims(), dims) != ir::Ternary::No) return ir::with_dims(x, dims);
  node.fail(text(name, " is not ", to_string(dims), " (", name, " ", x.type(), ")"));
}

std::int64_t known_integer(NodeContext& node, std::size_t i, const char* name) {
  const ir::Ints integers = node.known_integers(i, name);
  if (integers.size() == 1) return integers[0];
  node.fail(text(name, " has ", integers.size(), " elements, not 1"));
}

}  // namespace kiln::onnx
