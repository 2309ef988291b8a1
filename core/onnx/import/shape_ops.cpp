// Imports constants, shapes and tensors made from numbers.
#include "core/onnx/file/read.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"

#include <cstring>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

template <class Number>
Value vector_constant(DType dtype, const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return ir::constant({dtype, {static_cast<std::int64_t>(numbers.size())}}, std::move(bytes));
}

Values import_constant(NodeContext& node) {
  if (node.has_attribute("value_float")) {
    return {ir::scalar_constant(DType::Float32, node.number("value_float", 0))};
  }
  if (node.has_attribute("value_floats")) {
    return {vector_constant(DType::Float32, node.numbers("value_floats"))};
  }
  if (node.has_attribute("value_int")) {
    return {ir::scalar_constant_int(DType::Int64, node.integer("value_int"))};
  }
  if (const auto integers = node.integers("value_ints")) {
    return {vector_constant(DType::Int64, *integers)};
  }
  if (!node.has_attribute("value")) {
    node.fail("only constants of numbers are imported: texts and sparse tensors are not");
  }
  node.bind_constant(node.tensor_attribute("value"));
  return {};
}

Values import_constant_of_shape(NodeContext& node) {
  const Dims dims = shape_input(node, 0, "input");
  Value value = ir::scalar_constant(DType::Float32, 0);
  if (node.has_attribute("value")) {
    value = ir::reshape(node.constant(node.tensor_attribute("value")), {});
  }
  return {ir::broadcast_to(value, dims)};
}

/// Dims start .. end - 1 of x as an int64 vector.
Values import_shape(NodeContext& node) {
  const Dims dims = node.input(0).dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto position = [&](std::int64_t given) {
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = position(node.integer("start", 0));
  const std::int64_t end = position(node.integer("end", rank));
  Values sizes;
  for (std::int64_t i = start; i < end; ++i) {
    sizes.push_back(ir::reshape(ir::dim_size(dims[at(i)]), {1}));
  }
  if (sizes.empty()) return {ir::full(DType::Int64, {0}, 0)};
  return {ir::concat(sizes, 0)};
}

Values import_size(NodeContext& node) { return {ir::dim_size(product(node.input(0).dims()))}; }

/// Ones on diagonal k of a matrix with the dims of x.
Values import_eye_like(NodeContext& node) {
  const Value x = node.input(0);
  if (x.rank() != 2) node.fail(text("x has rank ", x.rank(), ", not 2 (x ", x.type(), ")"));
  const auto dtype =
      node.has_attribute("dtype") ? dtype_of(node.integer("dtype")) : std::optional(x.dtype());
  if (!dtype) node.fail(text("dtype ", node.integer("dtype"), " is not supported"));
  const ir::Type type{DType::Int64, x.dims()};
  const Value k =
      ir::broadcast_to(ir::scalar_constant_int(DType::Int64, node.integer("k", 0)), x.dims());
  return {ir::cast(ir::equal_to(ir::iota(type, 1), ir::iota(type, 0) + k), *dtype)};
}

constexpr OperatorRow kShapeOpsRows[] = {
    {"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, import_constant},
    {"ConstantOfShape", {9, 20, 21, 23, 24, 25}, import_constant_of_shape},
    {"EyeLike", {9, 22}, import_eye_like},
    {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, import_shape},
    {"Size", {1, 13, 19, 21, 23, 24, 25}, import_size},
};

}  // namespace

std::span<const OperatorRow> shape_operators() { return kShapeOpsRows; }

}  // namespace kiln::onnx
