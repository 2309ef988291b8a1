// Imports Range, whose length is known, follows from sizes, or depends on data.
#include "core/k/shape/data_dependent_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"

#include <array>
#include <cmath>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Value;
using Values = std::vector<Value>;

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
  const DType wide = is_half ? DType::Float32 : dtype;
  const Value index = ir::iota({wide, {*length}}, 0);
  const auto spread = [&](std::size_t i) {
    return ir::broadcast_to(scalar(i, wide), index.dims());
  };
  return {ir::cast(index * spread(2) + spread(0), dtype)};
}

constexpr OperatorRow kRangeRows[] = {
    {"Range", {11, 27}, import_range},
};

}  // namespace

std::span<const OperatorRow> range_operators() { return kRangeRows; }

}  // namespace kiln::onnx
