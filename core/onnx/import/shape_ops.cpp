// Imports constants, shapes and tensors made from numbers.
#include "core/k/shape/data_dependent_impl.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"

#include <array>
#include <cmath>
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

<<<<<<< HEAD
/// start, start + delta, .. below limit, whose length depends on data. Halves are computed in
/// float32, other floats in their own precision.
Value computed_range(NodeContext& node) {
  const Value given = ir::reshape(node.input(0), {});
  const DType dtype = given.dtype();
  const bool is_half = is_float(dtype) && dtype_bytes(dtype) < 4;
  const DType wide = is_half ? DType::Float32 : dtype;
  const auto scalar = [&](std::size_t i, DType to) {
    return ir::cast(ir::reshape(node.input(i), {}), to);
  };
  const DType counted = is_float(dtype) ? DType::Float64 : DType::Int64;
  const Values bounds{scalar(0, counted), scalar(1, counted), scalar(2, counted)};
  const std::string name(dtype_name(dtype));
  const Dim count = data_dependent_dims("range_length", name, bounds, 1).front();
  const Value delta = ir::broadcast_to(scalar(2, wide), {count});
  const Value steps = ir::iota({wide, {count}}, 0) * delta;
  return ir::cast(steps + ir::broadcast_to(scalar(0, wide), {count}), dtype);
}

/// start, start + delta, .. below limit.
=======
/// The bound of a range that input i is, if it is known: a size divided by an integer, or a number
/// with another fraction.
std::optional<ShapeElement> range_bound(NodeContext& node, std::size_t i) {
  const auto elements = node.elements(i);
  if (!elements || elements->size() != 1 || !elements->front()) return std::nullopt;
  const ShapeElement& bound = *elements->front();
  constexpr double kMaxExact = 0x1p53;
  if (!bound.number || std::abs(*bound.number) > kMaxExact) return bound;
  if (std::trunc(*bound.number) != *bound.number) return bound;
  return ShapeElement{.dim = static_cast<std::int64_t>(*bound.number)};
}

/// max(ceil((limit - start) / delta), 0) of known numbers, one of which has a fraction; nullopt if
/// one depends on an unknown size.
std::optional<Dim> fractional_range_length(NodeContext& node,
                                           const std::array<ShapeElement, 3>& bounds) {
  std::array<double, 3> numbers;
  for (std::size_t i = 0; i < 3; ++i) {
    const ShapeElement& bound = bounds[i];
    if (!bound.number && !bound.dim.is_static()) return std::nullopt;
    numbers[i] = bound.number
                     ? *bound.number
                     : static_cast<double>(bound.dim.value()) / static_cast<double>(bound.divisor);
  }
  const double length = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (!(length < 0x1p53)) {
    node.fail(text("start ", numbers[0], ", limit ", numbers[1], ", delta ", numbers[2]));
  }
  return static_cast<std::int64_t>(std::max(length, 0.0));
}

/// The number of elements of a range; nullopt if it depends on data.
std::optional<Dim> known_range_length(NodeContext& node) {
  const auto start = range_bound(node, 0), limit = range_bound(node, 1),
             delta = range_bound(node, 2);
  if (!start || !limit || !delta) return std::nullopt;
  if (start->number || limit->number || delta->number) {
    return fractional_range_length(node, {*start, *limit, *delta});
  }
  if (!delta->dim.is_static()) return std::nullopt;
  // (l / a - s / b) / (d / c) = (l b - s a) c / (a b d)
  const Dim span = (limit->dim * start->divisor - start->dim * limit->divisor) * delta->divisor;
  const std::int64_t step = delta->dim.value() * start->divisor * limit->divisor;
  if (step == 0) node.fail("delta is 0");
  return max(step > 0 ? ceil_div(span, step) : ceil_div(-span, -step), 0);
}

/// start + i delta below limit; halves are computed in float32.
>>>>>>> c9ca8ede (Count ONNX ranges of floats and of sizes with a factor)
Values import_range(NodeContext& node) {
  const DType dtype = node.input(0).dtype();
  const bool is_half = dtype == DType::Float16 || dtype == DType::BFloat16;
  const auto scalar = [&](std::size_t i, DType as) {
    return ir::cast(ir::reshape(node.input(i), {}), as);
  };
  auto length = known_range_length(node);
  if (!length) {
    const DType exact = is_float(dtype) ? DType::Float64 : DType::Int64;
    length = data_dependent_dims("range_length", std::string(dtype_name(dtype)),
                                 {scalar(0, exact), scalar(1, exact), scalar(2, exact)}, 1)
                 .front();
  }
<<<<<<< HEAD
  return {computed_range(node)};
=======
  const DType wide = is_half ? DType::Float32 : dtype;
  const Value index = ir::iota({wide, {*length}}, 0);
  const auto spread = [&](std::size_t i) {
    return ir::broadcast_to(scalar(i, wide), index.dims());
  };
  return {ir::cast(index * spread(2) + spread(0), dtype)};
>>>>>>> c9ca8ede (Count ONNX ranges of floats and of sizes with a factor)
}

/// Ones on diagonal k of a matrix with the dims of x.
Values import_eye_like(NodeContext& node) {
  const Value x = node.input(0);
  if (x.rank() != 2) node.fail(text("x has rank ", x.rank(), " (x ", x.type(), ")"));
  const auto dtype = node.has_attribute("dtype")
                         ? dtype_of(static_cast<std::int32_t>(node.integer("dtype")))
                         : std::optional(x.dtype());
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
    {"Range", {11, 27}, import_range},
    {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, import_shape},
    {"Size", {1, 13, 19, 21, 23, 24, 25}, import_size},
};

}  // namespace

std::span<const OperatorRow> shape_operators() { return kShapeOpsRows; }

}  // namespace kiln::onnx
