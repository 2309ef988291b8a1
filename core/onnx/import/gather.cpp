// Imports operators that read by index: Gather and its variants, OneHot, ReverseSequence.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/onnx/import/positions.h"
#include "core/onnx/import/shape_input.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

Values import_gather(NodeContext& node) {
  const Value x = node.input(0), indices = node.input(1);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  return {ir::gather(x, wrapped_indices(node, indices, x.dims()[at(axis)]), axis)};
}

/// x as a tensor of rows, which a linear index selects.
Value as_rows(const Value& x, const Dims& rows, const Dims& row) {
  Dims dims{product(rows)};
  dims.insert(dims.end(), row.begin(), row.end());
  return ir::reshape(x, dims);
}

Values import_gather_elements(NodeContext& node) {
  const Value x = node.input(0), indices = node.input(1);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  return {ir::gather(as_rows(x, x.dims(), {}), element_index(node, x, indices, axis))};
}

Values import_gather_nd(NodeContext& node) {
  const Value x = node.input(0);
  const std::int64_t batch_dims = node.integer("batch_dims", 0);
  const auto [index, rows, row] = tuple_index(node, x, node.input(1), batch_dims);
  return {ir::gather(as_rows(x, rows, row), index)};
}

/// The depth, which may be a float, of one element.
Dim one_hot_depth(NodeContext& node) {
  const Value depth = node.input(1);
  if (is_float(depth.dtype())) return known_integer(node, 1, "depth");
  if (const auto dims = node.dims(1); dims && dims->size() == 1) return dims->front();
  return dims_of(Shape(wrap(ir::reshape(ir::cast(depth, DType::Int64), {1}))), "depth").front();
}

/// values[1] at the index, values[0] elsewhere, and everywhere for an index out of range.
Values import_one_hot(NodeContext& node) {
  const Value given = ir::cast(node.input(0), DType::Int64), values = node.input(2);
  const Dim depth = one_hot_depth(node);
  if (less_equal(0, depth) == ir::Ternary::No) node.fail(text("depth is ", depth));
  if (values.rank() != 1) node.fail(text("values is no vector (values ", values.type(), ")"));
  const int rank = given.rank() + 1, axis = node.axis(node.integer("axis", -1), rank);
  Dims dims = given.dims();
  dims.insert(dims.begin() + axis, depth);
  const Value indices = ir::broadcast_over(wrapped_indices(node, given, depth), dims, {axis});
  const auto value = [&](int i) {
    return ir::broadcast_to(ir::reshape(ir::slice_axis(values, 0, i, i + 1), {}), dims);
  };
  const Value is_hot = ir::equal_to(ir::iota({DType::Int64, dims}, axis), indices);
  return {ir::select(is_hot, value(1), value(0))};
}

/// Reverses the first sequence_lens[b] entries along the time axis of each entry b of the batch. A
/// call with a length that is negative or above the size of that axis throws.
Values import_reverse_sequence(NodeContext& node) {
  const Value x = node.input(0), lengths = node.input(1);
  const auto time = node.integer("time_axis", 0), batch = node.integer("batch_axis", 1);
  if (x.rank() < 2 || time + batch != 1 || time * batch != 0 || lengths.rank() != 1) {
    node.fail(text("time_axis ", time, " and batch_axis ", batch, " are not 0 and 1 (input ",
                   x.type(), ", sequence_lens ", lengths.type(), ")"));
  }
  const Dims grid(x.dims().begin(), x.dims().begin() + 2),
      row(x.dims().begin() + 2, x.dims().end());
  const Value step = ir::iota({DType::Int64, grid}, time);
  const Value sized = ir::with_dims(lengths, {grid[at(batch)]});
  const Value checked = checked_indices(sized, grid[at(time)] + 1);
  const Value length = ir::broadcast_over(checked, grid, {time});
  const Value source = ir::select(ir::less(step, length), length - step - 1.0, step);
  const Value entry = ir::iota({DType::Int64, grid}, batch);
  const Values coordinates = time == 0 ? Values{source, entry} : Values{entry, source};
  return {ir::gather(as_rows(x, grid, row), linear_index(coordinates, grid))};
}

constexpr OperatorRow kGatherRows[] = {
    {"Gather", {1, 11, 13}, import_gather},
    {"GatherElements", {11, 13}, import_gather_elements},
    {"GatherND", {11, 12, 13}, import_gather_nd},
    {"OneHot", {9, 11, 28}, import_one_hot},
    {"ReverseSequence", {10, 28}, import_reverse_sequence},
};

}  // namespace

std::span<const OperatorRow> gather_operators() { return kGatherRows; }

}  // namespace kiln::onnx
