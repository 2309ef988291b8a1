// Wraps negative indices, and turns coordinates into linear indices.
#include "core/onnx/import/positions.h"

#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

bool is_known_not_negative(NodeContext& node, const Value& indices) {
  const auto dims = node.shape_values().dims(indices);
  return dims && std::all_of(dims->begin(), dims->end(),
                             [](const Dim& dim) { return less_equal(0, dim) == ir::Ternary::Yes; });
}

Value broadcast_size(const Dim& size, const Value& x) {
  return ir::broadcast_to(ir::cast(ir::dim_size(size), x.dtype()), x.dims());
}

Value coordinate(const Dims& dims, int axis) { return ir::iota({DType::Int64, dims}, axis); }

}  // namespace

Value wrapped_indices(NodeContext& node, const Value& indices, const Dim& size) {
  const bool is_signed = info(indices.dtype()).kind == DTypeKind::Signed;
  if (!is_signed || is_known_not_negative(node, indices)) return indices;
  const Value zeros = ir::zeros_like(indices), wrapped = indices + broadcast_size(size, indices);
  const Value counts_from_end =
      ir::binary(Op::And, ir::less(indices, zeros), ir::less_equal_to(zeros, wrapped));
  return ir::select(counts_from_end, wrapped, indices);
}

Value checked_indices(const Value& indices, const Dim& size) {
  // A gather checks its indices. No pass removes one of an iota.
  return ir::gather(ir::iota({DType::Int64, {size}}, 0), ir::cast(indices, DType::Int64), 0);
}

Value linear_index(const std::vector<Value>& coordinates, const Dims& dims) {
  Value index;
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const Value& one = coordinates[i];
    index = index ? index * broadcast_size(dims[i], one) + one : one;
  }
  return index;
}

namespace {

/// The coordinate along an axis of `size` elements, one of `count` coordinates. The access to the
/// element checks a single one.
Value given_coordinate(NodeContext& node, const Value& indices, const Dim& size, int count) {
  const Value wrapped = wrapped_indices(node, indices, size);
  return count == 1 ? wrapped : checked_indices(wrapped, size);
}

}  // namespace

Value element_index(NodeContext& node, const Value& x, const Value& indices, int axis) {
  if (indices.rank() != x.rank()) {
    node.fail(text("indices and data differ in rank (data ", x.type(), ", indices ", indices.type(),
                   ")"));
  }
  std::vector<Value> coordinates;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && less_equal(indices.dims()[at(i)], x.dims()[at(i)]) == ir::Ternary::No) {
      node.fail(text("axis ", i, " of indices is longer than that of data (data ", x.type(),
                     ", indices ", indices.type(), ")"));
    }
    coordinates.push_back(i == axis ? given_coordinate(node, ir::cast(indices, DType::Int64),
                                                       x.dims()[at(i)], x.rank())
                                    : coordinate(indices.dims(), i));
  }
  return linear_index(coordinates, x.dims());
}

TupleIndex tuple_index(NodeContext& node, const Value& x, const Value& indices,
                       std::int64_t given_batch) {
  const auto types = [&] { return text(" (data ", x.type(), ", indices ", indices.type(), ")"); };
  const int rank = indices.rank();
  const Dim length = rank > 0 ? indices.dims().back() : Dim(0);
  if (rank < 1 || !length.is_static()) {
    node.fail(text("the last axis of indices must have a known size", types()));
  }
  if (given_batch < 0 || given_batch >= rank || length.value() > x.rank() - given_batch) {
    node.fail(text("indices of ", length, " axes after ", given_batch,
                   " of the batch do not fit data", types()));
  }
  const auto batch_dims = static_cast<int>(given_batch), count = static_cast<int>(length.value());
  Dims rows(x.dims().begin(), x.dims().begin() + batch_dims + count);
  const Dims row(x.dims().begin() + batch_dims + count, x.dims().end());
  Dims places(indices.dims().begin(), indices.dims().end() - 1);
  for (int i = 0; i < batch_dims; ++i) {
    if (equal(places[at(i)], rows[at(i)]) == ir::Ternary::No) {
      node.fail(text("the batches of data and indices differ along axis ", i, types()));
    }
  }
  const Value wide = ir::cast(indices, DType::Int64);
  std::vector<Value> coordinates;
  for (int i = 0; i < batch_dims; ++i) coordinates.push_back(coordinate(places, i));
  for (int i = 0; i < count; ++i) {
    const Value one = ir::reshape(ir::slice_axis(wide, rank - 1, i, i + 1), places);
    coordinates.push_back(
        given_coordinate(node, one, rows[at(batch_dims + i)], batch_dims + count));
  }
  // Without coordinates, all of x is the one row.
  const Value index =
      coordinates.empty() ? ir::full(DType::Int64, places, 0) : linear_index(coordinates, rows);
  return {index, std::move(rows), row};
}

}  // namespace kiln::onnx
