// Imports Slice: bounds that follow from constants and sizes become a slice, others an index.
#include "core/k/shape/data_dependent_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// A bound of one axis: a dim if it follows from constants and sizes, and an int64 scalar.
struct SliceBound {
  std::optional<Dim> dim;
  Value scalar;
};

std::vector<SliceBound> slice_bounds(NodeContext& node, const char* name, std::size_t i) {
  std::vector<SliceBound> bounds;
  const auto add = [&](const Dim& dim) {
    const bool is_far = dim.is_static() && std::abs(dim.value() / 2) >= kFarEnd / 2 - 1;
    const Dim near = is_far ? Dim(dim.value() > 0 ? kFarEnd : -kFarEnd) : dim;
    bounds.push_back({near, ir::dim_size(near)});
  };
  if (node.opset() < 10) {
    const auto attribute = node.integers(name);
    if (!attribute) node.fail(text("attribute '", name, "' is missing"));
    for (const std::int64_t one : *attribute) add(one);
    return bounds;
  }
  const auto elements = node.elements(i);
  const bool has_all = elements && std::all_of(elements->begin(), elements->end(),
                                               [](const auto& one) { return one.has_value(); });
  const Values scalars = has_all ? Values() : integers_in(Shape(node.tensor(i)), name);
  for (std::size_t k = 0; k < (elements ? elements->size() : scalars.size()); ++k) {
    if (elements && (*elements)[k]) {
      add((*elements)[k]->dim);
    } else {
      bounds.push_back({std::nullopt, scalars[k]});
    }
  }
  return bounds;
}

/// The bound as a position, which counts from the end if it is negative. A guard requires a
/// position of unknown sign not to be.
Dim slice_position(Value& x, const Dim& given, const Dim& size, const char* name) {
  if (given.is_static() && given.value() == -kFarEnd) return -1;
  if (less_equal(0, given) == ir::Ternary::Unknown &&
      less_equal(0, given + 1) != ir::Ternary::Yes) {
    x = ir::require(x, {.kind = ir::Guard::Kind::LessEqual,
                        .left = 0,
                        .right = given,
                        .message = text("the ", name, " of a slice, ", given,
                                        ", is {right}, which should be at least {left}")});
  }
  return position_of(given, size);
}

/// Elements start, start + step, .. of an axis for known bounds; with a negative step, of the
/// reversed axis.
Value known_slice(Value x, int axis, const Dim& start, const Dim& end, std::int64_t step) {
  const Dim size = x.dims()[at(axis)];
  Dim from = slice_position(x, start, size, "start");
  Dim to = slice_position(x, end, size, "end");
  if (step > 0) {
    from = clamped(from, 0, size);
    to = clamped(to, 0, size);
  } else {
    from = start == Dim(kFarEnd) ? Dim(0) : clamped(size - 1 - from, 0, max(size - 1, 0));
    to = end == Dim(kFarEnd) ? Dim(0) : clamped(size - 1 - to, 0, size);
    x = ir::reverse(x, {axis});
  }
  Dims starts(x.dims().size(), 0), limits = x.dims();
  Ints steps(x.dims().size(), 1);
  starts[at(axis)] = from;
  limits[at(axis)] = max(from, to);
  steps[at(axis)] = std::abs(step);
  return ir::slice(x, starts, limits, steps);
}

/// A scalar as another one plus a dim, through reshapes, casts, and parts of concatenations.
struct OffsetScalar {
  Value base;
  Dim offset = 0;
};

/// The operand that an op of one element only copies; empty for other ops.
Value copied_operand(const Value& x) {
  const ir::Node& node = *x.node;
  switch (node.op) {
    case Op::Reshape:
    case Op::Require: return node.operands[0];
    case Op::Cast: return is_integer(node.operands[0].dtype()) ? node.operands[0] : Value();
    case Op::Slice: break;
    default: return {};
  }
  const Dim& start = node.as<ir::SliceAttrs>().start.front();
  const ir::Node& source = *node.operands[0].node;
  if (source.op != Op::Concat || x.rank() != 1 || !start.is_static()) return {};
  std::int64_t position = start.value();
  for (const Value& part : source.operands) {
    const Dim& size = part.dims()[0];
    if (!size.is_static()) return {};
    if (position < size.value()) return size.is_one() ? part : Value();
    position -= size.value();
  }
  return {};
}

OffsetScalar offset_scalar(const Value& scalar) {
  OffsetScalar result{scalar};
  while (true) {
    if (const Value copied = copied_operand(result.base)) {
      result.base = copied;
      continue;
    }
    const ir::Node& node = *result.base.node;
    if (node.op != Op::Add && node.op != Op::Sub) return result;
    const auto right = dim_of(node.operands[1]);
    const auto left = node.op == Op::Add ? dim_of(node.operands[0]) : std::nullopt;
    if (!left && !right) return result;
    const Dim change = right ? *right : *left;
    result.offset = node.op == Op::Add ? result.offset + change : result.offset - change;
    result.base = node.operands[right ? 0 : 1];
  }
}

/// In the body of a loop, where no size may depend on data: the slice of a bound that is a step
/// number and one that is it plus a size. Both must be positions of the axis.
std::optional<Value> moving_slice(const Value& x, int axis, const SliceBound& start,
                                  const SliceBound& end) {
  if (!start.scalar.node->is_open && !end.scalar.node->is_open) return std::nullopt;
  const OffsetScalar first = offset_scalar(start.scalar), last = offset_scalar(end.scalar);
  const Dim width = last.offset - first.offset;
  const bool has_width = first.base == last.base && less_equal(0, width) == ir::Ternary::Yes;
  if (!has_width) return std::nullopt;
  const Value zero = ir::zeros_like(start.scalar), size = ir::dim_size(x.dims()[at(axis)]);
  const Value counted =
      ir::select(ir::less(end.scalar, zero), start.scalar + size, ir::like(zero, -1));
  const Value from = ir::select(ir::less(start.scalar, zero), counted, start.scalar);
  const Value steps = ir::iota({DType::Int64, {width}}, 0);
  return ir::gather(x, steps + ir::broadcast_to(from, {width}), axis);
}

/// The same for bounds that depend on data, in which the number of elements is data-dependent.
Value computed_slice(const Value& x, int axis, const SliceBound& start, const SliceBound& end,
                     std::int64_t step) {
  if (step == 1) {
    if (const auto moving = moving_slice(x, axis, start, end)) return *moving;
  }
  const Dim& extent = x.dims()[at(axis)];
  const Value size = ir::dim_size(extent), zero = ir::zeros_like(size);
  const auto position = [&](const Value& given, const Value& low, const Value& high) {
    const Value counted = ir::select(ir::less(given, zero), given + size, given);
    return ir::binary(Op::Maximum, ir::binary(Op::Minimum, counted, high), low);
  };
  const bool ascends = step > 0;
  const Value last = size - 1.0, from = position(start.scalar, zero, ascends ? size : last);
  const Value to =
      ascends ? position(end.scalar, zero, size) : position(end.scalar, ir::like(size, -1), last);
  const auto width = static_cast<double>(std::abs(step));
  const Value span = ir::binary(Op::Maximum, ascends ? to - from : from - to, zero);
  const Value count = (span + (width - 1)) / width;
  const Dim found =
      data_dependent_dims("sizes", text("size[", axis, "]"), {vector_of({count})}, 1).front();
  if (step == 1 && start.dim && less_equal(0, *start.dim) == ir::Ternary::Yes) {
    const Dim first = clamped(*start.dim, 0, extent);
    return ir::slice_axis(x, axis, first, first + found);
  }
  const Value steps = ir::iota({DType::Int64, {found}}, 0) * static_cast<double>(step);
  return ir::gather(x, steps + ir::broadcast_to(from, {found}), axis);
}

/// Axes, and bounds and steps of each; before opset 10 attributes, without steps.
Values import_slice(NodeContext& node) {
  Value x = node.input(0);
  const auto starts = slice_bounds(node, "starts", 1), ends = slice_bounds(node, "ends", 2);
  const bool has_inputs = node.opset() >= 10;
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = has_inputs ? std::nullopt : node.integers("axes")) axes = *given;
  if (has_inputs && node.has(3)) axes = node.known_integers(3, "axes");
  Ints steps(starts.size(), 1);
  if (has_inputs && node.has(4)) steps = node.known_integers(4, "steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    node.fail(text("starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ",
                   axes.size(), " and ", steps.size(), " entries"));
  }
  node.axes(axes, x.rank());  // rejects repetitions
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = node.axis(axes[i], x.rank());
    if (steps[i] == 0) node.fail(text("step 0 of axis ", axis, " is out of range"));
    // A longer step takes one element, too.
    const std::int64_t step = std::clamp(steps[i], -kFarEnd, kFarEnd);
    x = starts[i].dim && ends[i].dim ? known_slice(x, axis, *starts[i].dim, *ends[i].dim, step)
                                     : computed_slice(x, axis, starts[i], ends[i], step);
  }
  return {x};
}

constexpr OperatorRow kSliceRows[] = {
    {"Slice", {1, 10, 11, 13}, import_slice},
};

}  // namespace

std::span<const OperatorRow> slice_operators() { return kSliceRows; }

}  // namespace kiln::onnx
