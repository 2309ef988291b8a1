// Imports operators that write by index: Scatter, ScatterElements, ScatterND.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/positions.h"
#include "core/types/at.h"

#include <limits>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// Updates of rows of x: index[j] is the row of update j.
struct RowUpdates {
  Value x;  // (rows, row..)
  Value index;  // (updates), int64
  Value updates;  // (updates, row..)
};

/// A value per row or update, repeated over the elements of rows.
Value over_row_elements(const Value& per_row, const Dims& dims) {
  return ir::broadcast(per_row, dims, {0});
}

/// The sums of `values` by row of x; values of an update that is not counted are 0.
Value sums_by_row(const RowUpdates& given, const Value& values) {
  return ir::scatter_add(given.index, values, 0, given.x.dims()[0]);
}

/// Whether each row of x has an update, repeated over its elements.
Value has_update(const RowUpdates& given) {
  const Value ones = ir::full(DType::Int32, given.index.dims(), 1);
  const Value hits = ir::scatter_add(given.index, ones, 0, given.x.dims()[0]);
  return over_row_elements(ir::less(ir::zeros_like(hits), hits), given.x.dims());
}

/// Rows with an update are its elements. ONNX has no two updates of a row here, so that their sum
/// is the one update.
Value replaced_rows(const RowUpdates& given) {
  if (given.x.dtype() == DType::Bool) {
    const RowUpdates wide{ir::cast(given.x, DType::Int32), given.index,
                          ir::cast(given.updates, DType::Int32)};
    return ir::cast(replaced_rows(wide), DType::Bool);
  }
  return ir::select(has_update(given), sums_by_row(given, given.updates), given.x);
}

/// The element that changes none by `op`.
double scatter_neutral(Op op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return op == Op::Mul ? 1 : (op == Op::Maximum ? -kInfinity : kInfinity);
}

/// Combines each row of x with all its updates by `op`: the updates of equal index are combined by
/// a reduction over all pairs of updates, and the first of them has the result.
Value combined_rows(const RowUpdates& given, Op op) {
  const Op reduction = op == Op::Mul ? Op::Prod : (op == Op::Maximum ? Op::Max : Op::Min);
  const Dim count = given.index.dims()[0];
  const Dims pairs{count, count};
  const Value same =
      ir::equal_to(ir::broadcast(given.index, pairs, {0}), ir::broadcast(given.index, pairs, {1}));
  const Value row = ir::iota({DType::Int64, pairs}, 0), column = ir::iota({DType::Int64, pairs}, 1);
  const Value is_before = ir::binary(Op::And, same, ir::less(column, row));
  const Value is_first = ir::logical_not(ir::reduce(Op::Max, is_before, {1}));

  Dims wide{count};
  wide.insert(wide.end(), given.updates.dims().begin(), given.updates.dims().end());
  Ints axes = ir::all_axes(given.updates);
  for (std::int64_t& axis : axes) ++axis;
  const Value others = ir::broadcast(given.updates, wide, axes);
  const Value none = ir::full(others.dtype(), wide, scatter_neutral(op));
  const Value all =
      ir::reduce(reduction, ir::select(ir::broadcast(same, wide, {0, 1}), others, none), {1});
  const Value firsts =
      ir::select(over_row_elements(is_first, all.dims()), all, ir::zeros_like(all));
  const Value sums = sums_by_row(given, firsts);
  return ir::select(has_update(given), ir::binary(op, given.x, sums), given.x);
}

Value updated_rows(NodeContext& node, const RowUpdates& given) {
  const std::string reduction = node.string("reduction", "none");
  if (reduction == "none") return replaced_rows(given);
  if (given.x.dtype() == DType::Bool) node.fail(text("reduction ", reduction, " of bools"));
  if (reduction == "add") return given.x + sums_by_row(given, given.updates);
  if (reduction == "mul") return combined_rows(given, Op::Mul);
  if (reduction == "max") return combined_rows(given, Op::Maximum);
  if (reduction == "min") return combined_rows(given, Op::Minimum);
  node.fail(text("reduction '", reduction, "' is unknown"));
}

void require_same_dtype(NodeContext& node, const Value& x, const Value& updates) {
  if (x.dtype() == updates.dtype()) return;
  node.fail(text("data and updates differ in their element type (data ", x.type(), ", updates ",
                 updates.type(), ")"));
}

/// Each entry of indices replaces a coordinate along `axis` of the element that it updates.
Values import_scatter_elements(NodeContext& node) {
  const Value x = node.input(0), indices = node.input(1), updates = node.input(2);
  require_same_dtype(node, x, updates);
  if (x.rank() != updates.rank() || equal(indices.dims(), updates.dims()) == ir::Ternary::No) {
    node.fail(text("updates do not fit (data ", x.type(), ", indices ", indices.type(),
                   ", updates ", updates.type(), ")"));
  }
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const Value index = element_index(node, x, indices, axis);
  const Dim count = product(indices.dims());
  const RowUpdates given{ir::reshape(x, {product(x.dims())}), ir::reshape(index, {count}),
                         ir::reshape(ir::with_dims(updates, indices.dims()), {count})};
  return {ir::reshape(updated_rows(node, given), x.dims())};
}

/// Each tuple along the last axis of indices is the row of data that it updates.
Values import_scatter_nd(NodeContext& node) {
  const Value x = node.input(0), indices = node.input(1);
  require_same_dtype(node, x, node.input(2));
  const auto [index, rows, row] = tuple_index(node, x, indices, 0);
  Dims dims = index.dims();
  dims.insert(dims.end(), row.begin(), row.end());
  if (equal(node.input(2).dims(), dims) == ir::Ternary::No) {
    node.fail(text("updates do not fit (data ", x.type(), ", indices ", indices.type(),
                   ", updates ", node.input(2).type(), ")"));
  }
  const Value updates = ir::with_dims(node.input(2), dims);
  const auto as_rows = [&element = row](const Value& value, const Dim& count) {
    Dims flat{count};
    flat.insert(flat.end(), element.begin(), element.end());
    return ir::reshape(value, flat);
  };
  const Dim count = product(index.dims());
  const RowUpdates given{as_rows(x, product(rows)), ir::reshape(index, {count}),
                         as_rows(updates, count)};
  return {ir::reshape(updated_rows(node, given), x.dims())};
}

constexpr OperatorRow kScatterRows[] = {
    {"Scatter", {9, 11}, import_scatter_elements},
    {"ScatterElements", {11, 13, 16, 18}, import_scatter_elements},
    {"ScatterND", {11, 13, 16, 18}, import_scatter_nd},
};

}  // namespace

std::span<const OperatorRow> scatter_operators() { return kScatterRows; }

}  // namespace kiln::onnx
