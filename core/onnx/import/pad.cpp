// Imports operators that pad and crop.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

enum class PadMode : std::uint8_t { Constant, Edge, Reflect, Wrap };

PadMode pad_mode(const NodeContext& node) {
  const std::string mode = node.string("mode", "constant");
  if (mode == "constant") return PadMode::Constant;
  if (mode == "edge") return PadMode::Edge;
  if (mode == "reflect") return PadMode::Reflect;
  if (mode == "wrap") return PadMode::Wrap;
  node.fail(text("mode '", mode, "' is none of constant, edge, reflect and wrap"));
}

/// Elements to add before and after each axis; negative ones are to be removed.
struct PadSizes {
  Dims low, high;
};

PadSizes pad_sizes(NodeContext& node, const Value& x) {
  const auto attribute = node.integers("pads");
  const Dims given =
      attribute ? Dims(attribute->begin(), attribute->end()) : shape_input(node, 1, "pads");
  Ints axes = ir::all_axes(x);
  if (node.has(3)) axes = node.known_integers(3, "axes");
  if (given.size() != 2 * axes.size()) {
    node.fail(
        text("pads has ", given.size(), " entries for ", axes.size(), " axes (x ", x.type(), ")"));
  }
  PadSizes sizes{Dims(x.dims().size(), 0), Dims(x.dims().size(), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = at(node.axis(axes[i], x.rank(), "axes"));
    sizes.low[axis] = given[i];
    sizes.high[axis] = given[axes.size() + i];
  }
  return sizes;
}

/// x without the elements that negative sizes remove, and sizes that are not negative.
Value cropped(const Value& x, PadSizes& sizes) {
  Dims start, limit;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    Dim &low = sizes.low[i], &high = sizes.high[i];
    start.push_back(max(0 - low, 0));
    limit.push_back(x.dims()[i] - max(0 - high, 0));
    low = max(low, 0);
    high = max(high, 0);
  }
  return ir::slice(x, start, limit);
}

/// The element that is repeated at index i of a padded axis: index i - low, brought into x.
Value padding_indices(PadMode mode, const Dim& size, const Dim& low, const Dim& high) {
  const Dims dims{low + size + high};
  const auto number = [&](const Dim& dim) { return ir::broadcast_to(ir::dim_size(dim), dims); };
  const Value index = ir::iota({DType::Int64, dims}, 0) - number(low);
  if (mode == PadMode::Edge) {
    const Value above = ir::binary(Op::Maximum, index, number(0));
    return ir::binary(Op::Minimum, above, number(size - 1));
  }
  // Reflection repeats a period of size elements forth and size - 2 back; one element has none.
  const Value period = number(mode == PadMode::Wrap ? size : 2 * (size - 1));
  const auto positive = [&](const Value& x) {
    const Value rest = ir::binary(Op::Mod, x, period);
    return ir::select(ir::less(rest, number(0)), rest + period, rest);
  };
  const Value forth = positive(index);
  return mode == PadMode::Wrap ? forth : ir::binary(Op::Minimum, forth, period - forth);
}

/// `count` equal elements along an axis of one element.
Value repeated_element(const Value& element, int axis, const Dim& count) {
  Dims dims = element.dims();
  dims[at(axis)] = count;
  return ir::broadcast(element, dims, ir::all_axes(element));
}

/// x with copies of its elements before and after an axis, which the axis is long enough for.
Value padded_axis(const Value& x, PadMode mode, int axis, const Dim& low, const Dim& high) {
  const Dim& size = x.dims()[at(axis)];
  const auto part = [&](const Dim& begin, const Dim& end) {
    const Value elements = ir::slice_axis(x, axis, begin, end);
    return mode == PadMode::Reflect ? ir::reverse(elements, {axis}) : elements;
  };
  Values parts;
  const bool has_low = low != Dim(0), has_high = high != Dim(0);
  switch (mode) {
    case PadMode::Constant: break;
    case PadMode::Edge:
      if (has_low) parts.push_back(repeated_element(part(0, 1), axis, low));
      parts.push_back(x);
      if (has_high) parts.push_back(repeated_element(part(size - 1, size), axis, high));
      break;
    case PadMode::Reflect:
      if (has_low) parts.push_back(part(1, low + 1));
      parts.push_back(x);
      if (has_high) parts.push_back(part(size - 1 - high, size - 1));
      break;
    case PadMode::Wrap:
      if (has_low) parts.push_back(part(size - low, size));
      parts.push_back(x);
      if (has_high) parts.push_back(part(0, high));
      break;
  }
  return ir::concat(parts, axis);
}

/// x with copies of its elements, axis by axis. An axis of unknown size must be longer than its
/// reflected padding, and as long as the wrapped one; known shorter ones are repeated.
Value padded_by_copies(const Value& x, PadMode mode, const PadSizes& sizes) {
  Value y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim &low = sizes.low[at(axis)], &high = sizes.high[at(axis)];
    if (low == Dim(0) && high == Dim(0)) continue;
    const Dim size = x.dims()[at(axis)];
    const Dim longest = mode == PadMode::Wrap   ? size
                        : mode == PadMode::Edge ? max(max(low, high), 0)
                                                : size - 1;
    const bool is_long =
        less_equal(low, longest) != ir::Ternary::No && less_equal(high, longest) != ir::Ternary::No;
    Dims smallest(x.dims().size(), 0);
    smallest[at(axis)] = 1;
    y = ir::fits(y, smallest);
    y = is_long ? padded_axis(y, mode, axis, low, high)
                : ir::gather(y, padding_indices(mode, size, low, high), axis);
  }
  return y;
}

/// The value of constant padding, a scalar: an attribute before opset 11, then an input.
Value pad_value(NodeContext& node, const Value& x) {
  if (node.opset() < 11) return ir::scalar_constant(x.dtype(), node.number("value", 0));
  if (!node.has(2)) return ir::scalar_constant(x.dtype(), 0);
  return ir::cast(ir::reshape(node.input(2), {}), x.dtype());
}

Values import_pad(NodeContext& node) {
  const PadMode mode = pad_mode(node);
  Value x = node.input(0);
  PadSizes sizes = pad_sizes(node, x);
  x = cropped(x, sizes);
  if (mode == PadMode::Constant) return {ir::pad(x, pad_value(node, x), sizes.low, sizes.high)};
  return {padded_by_copies(x, mode, sizes)};
}

/// The middle of the axes of `shape` sizes, with zeros around it where x is smaller.
Values import_center_crop_pad(NodeContext& node) {
  const Value x = node.input(0);
  const Dims shape = shape_input(node, 1, "shape");
  const Ints axes = node.integers("axes").value_or(ir::all_axes(x));
  if (shape.size() != axes.size()) {
    node.fail(text("shape ", to_string(shape), " has ", shape.size(), " entries for ", axes.size(),
                   " axes (x ", x.type(), ")"));
  }
  Dims start(x.dims().size(), 0), limit = x.dims(), low = start, high = start, dims = x.dims();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = at(node.axis(axes[i], x.rank(), "axes"));
    const Dim &size = x.dims()[axis], &target = shape[i];
    const Dim missing = max(target - size, 0);
    start[axis] = floor_div(max(size - target, 0), 2);
    limit[axis] = start[axis] + min(size, target);
    low[axis] = floor_div(missing, 2);
    high[axis] = missing - low[axis];
    dims[axis] = target;
  }
  const Value zero = ir::scalar_constant(x.dtype(), 0);
  return {ir::with_dims(ir::pad(ir::slice(x, start, limit), zero, low, high), dims)};
}

constexpr OperatorRow kPadRows[] = {
    {"CenterCropPad", {18}, import_center_crop_pad},
    {"Pad", {2, 11, 13, 18, 19, 21, 23, 24, 25}, import_pad},
};

}  // namespace

std::span<const OperatorRow> pad_operators() { return kPadRows; }

}  // namespace kiln::onnx
