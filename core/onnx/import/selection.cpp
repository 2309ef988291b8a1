// Imports operators that select elements by their values: TopK, NonZero, Compress, Unique,
// NonMaxSuppression. All but TopK have data-dependent sizes.
#include "core/k/shape/data_dependent_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/positions.h"
#include "core/onnx/import/shape_input.h"
#include "core/ops/lambda_builder.h"
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

constexpr double kBeyondNumbers = std::numeric_limits<double>::infinity();

/// Integers in the order of x, in which -0 equals 0 and, as in ArgSort, NaN comes after infinity:
/// the bits of numbers ascend, those of negative ones descend.
Value order_key(const Value& x) {
  if (!is_float(x.dtype())) return x;
  const std::size_t bytes = dtype_bytes(x.dtype());
  const DType dtype = bytes == 2 ? DType::Int16 : bytes == 4 ? DType::Int32 : DType::Int64;
  const Value zero = ir::zeros_like(x);
  const Value bits = ir::bitcast(ir::select(ir::equal_to(x, zero), zero, x), dtype);
  const Value lowest = ir::like(bits, -kBeyondNumbers);
  const Value key = ir::select(ir::less(bits, ir::zeros_like(bits)), lowest - bits, bits);
  return ir::select(ir::equal_to(x, x), key, ir::like(bits, kBeyondNumbers));
}

/// The index along `axis` of the k best elements, best first, of equal ones the lowest first:
/// (k, other axes), int64. A Scan of k steps; its carries are the element that was best last, and
/// its index. The elements after it in that order are left for the step.
Value ranked_indices(const Value& x, int axis, const Dim& k, bool is_largest) {
  const Value key = order_key(x);
  Dims rows = x.dims();
  rows.erase(rows.begin() + axis);
  const ir::LambdaBuilder builder({{DType::Int64, {}}, {key.dtype(), rows}, {DType::Int64, rows}});
  const auto& parameters = builder.parameters();
  ir::Trace trace;
  Values results;
  {
    const ir::Trace::Scope tracing(trace);
    const auto wide = [&](const Value& value) {
      return ir::broadcast_over(value, x.dims(), {axis});
    };
    const Value last = wide(parameters[1]), last_index = wide(parameters[2]);
    const Value index = ir::iota({DType::Int64, x.dims()}, axis);
    const auto is_worse = [&](const Value& a, const Value& b) {
      return is_largest ? ir::less(a, b) : ir::less(b, a);
    };
    const Value is_equal_later =
        ir::binary(Op::And, ir::equal_to(key, last), ir::less(last_index, index));
    const Value is_left = ir::binary(Op::Or, is_worse(key, last), is_equal_later);
    const Value worst = ir::like(key, is_largest ? -kBeyondNumbers : kBeyondNumbers);
    const Value best =
        ir::reduce(is_largest ? Op::Max : Op::Min, ir::select(is_left, key, worst), {axis});
    const Value is_best = ir::binary(Op::And, is_left, ir::equal_to(key, wide(best)));
    const Value found =
        ir::make(Op::ArgMax, ir::AxisAttrs{axis}, {ir::cast(is_best, DType::Int32)});
    results = {best, found, found};
  }
  const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
  const Values first{ir::full(key.dtype(), rows, is_largest ? kBeyondNumbers : -kBeyondNumbers),
                     ir::full(DType::Int64, rows, -1)};
  return {ir::make_scan(traced, first, {}, k, /*reverse=*/false), 2};
}

/// The same with k along `axis`. A sort makes a pass over x for each bit of an element, a search
/// one for each of the k.
Value best_indices(const Value& x, int axis, const Dim& k, bool is_largest) {
  if (less_equal(k, 8 * static_cast<std::int64_t>(dtype_bytes(x.dtype()))) != ir::Ternary::Yes) {
    const Value order = ir::make(Op::ArgSort, ir::SortAttrs{axis, is_largest}, {x});
    return ir::slice_axis(order, axis, 0, k);
  }
  Ints axes = ir::all_axes(x);
  axes.erase(axes.begin());
  axes.insert(axes.begin() + axis, 0);
  return ir::permute(ranked_indices(x, axis, k, is_largest), axes);
}

/// K is an attribute before opset 10. The result is sorted, which `sorted` = 0 allows.
Values import_top_k(NodeContext& node) {
  Value x = node.input(0);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  Dim k;
  if (node.opset() < 10) {
    k = node.integer("k");
  } else if (const auto dims = node.dims(1); dims && dims->size() == 1) {
    k = dims->front();
  } else {
    k = dims_of(Shape(wrap(ir::reshape(ir::cast(node.input(1), DType::Int64), {1}))), "K").front();
  }
  if (less_equal(0, k) == ir::Ternary::No || less_equal(k, x.dims()[at(axis)]) == ir::Ternary::No) {
    node.fail(text("K is ", k, " of ", x.dims()[at(axis)], " elements (X ", x.type(), ")"));
  }
  x = ir::require(x, {.kind = ir::Guard::Kind::LessEqual,
                      .left = k,
                      .right = x.dims()[at(axis)],
                      .message = text("TopK of {left} of the {right} elements of axis ", axis)});
  const bool is_largest = node.integer("largest", 1) != 0;
  const Value indices = best_indices(ir::stop_gradient(x), axis, k, is_largest);
  const Value flat = ir::reshape(x, {product(x.dims())});
  return {ir::gather(flat, element_index(node, x, indices, axis)), indices};
}

/// The positions, ascending, at which a vector of bools is true. Each true element is written to
/// the place that the number of true ones before it gives, all others to a last place, which is
/// dropped.
Value true_positions(NodeContext& node, const Value& mask) {
  if (const auto known = node.shape_values().dims(mask)) {
    const bool is_known =
        std::all_of(known->begin(), known->end(), [](const Dim& dim) { return dim.is_static(); });
    Values positions;
    for (std::size_t i = 0; is_known && i < known->size(); ++i) {
      if ((*known)[i] == Dim(1)) positions.push_back(ir::dim_size(static_cast<std::int64_t>(i)));
    }
    if (is_known) return vector_of(positions);
  }
  const Value ones = ir::cast(mask, DType::Int64), total = ir::reduce_sum(ones, {0});
  const Dim count = data_dependent_dims("sizes", "count", {vector_of({total})}, 1).front();
  const Value place = ir::make(Op::CumSum, ir::AxisAttrs{0}, {ones}) - 1.0;
  const Value target = ir::select(mask, place, ir::broadcast_to(total, mask.dims()));
  const Value position = ir::iota({DType::Int64, mask.dims()}, 0);
  const Value placed = ir::scatter_add(target, position, 0, count + 1);
  return ir::slice_axis(placed, 0, 0, count);
}

Value all_elements(const Value& x) { return ir::reshape(x, {product(x.dims())}); }

/// A row of coordinates per axis, a column per element that is not 0.
Values import_non_zero(NodeContext& node) {
  const Value x = node.input(0);
  const Value positions = true_positions(node, all_elements(ir::cast(x, DType::Bool)));
  const Dim count = positions.dims()[0];
  if (x.rank() == 0) return {ir::full(DType::Int64, {0, count}, 0)};
  const auto size = [&](const Dim& dim) {
    return ir::broadcast_to(ir::dim_size(dim), positions.dims());
  };
  Values rows(at(x.rank()));
  Value rest = positions;
  for (int axis = x.rank(); axis-- > 0;) {
    const Value extent = size(x.dims()[at(axis)]);
    rows[at(axis)] = ir::reshape(ir::binary(Op::Mod, rest, extent), {1, count});
    rest = rest / extent;
  }
  return {ir::concat(rows, 0)};
}

/// The entries of an axis, or of the flattened x, at which the condition, which may be shorter, is
/// true.
Values import_compress(NodeContext& node) {
  const bool has_axis = node.has_attribute("axis");
  const Value x = has_axis ? node.input(0) : all_elements(node.input(0));
  const Value condition = ir::cast(node.input(1), DType::Bool);
  const int axis = has_axis ? node.axis(node.integer("axis"), x.rank()) : 0;
  if (condition.rank() != 1) {
    node.fail(text("condition is no vector (condition ", condition.type(), ")"));
  }
  return {ir::gather(x, true_positions(node, condition), axis)};
}

/// x as int64 or float64 in the same order.
Value ordered_wide(const Value& x) {
  if (is_float(x.dtype())) return ir::cast(x, DType::Float64);
  const Value wide = ir::cast(x, DType::Int64);
  if (x.dtype() != DType::UInt64) return wide;
  return wide + ir::broadcast_to(ir::scalar_constant_int(DType::Int64, INT64_MIN), x.dims());
}

/// The distinct entries of an axis, or of the flattened x, and where they are.
Values import_unique(NodeContext& node) {
  const bool has_axis = node.has_attribute("axis");
  const Value x = has_axis ? node.input(0) : all_elements(node.input(0));
  const int axis = has_axis ? node.axis(node.integer("axis"), x.rank()) : 0;
  Ints axes = ir::all_axes(x);
  axes.erase(axes.begin() + axis);
  axes.insert(axes.begin(), axis);
  const Value first = ir::permute(x, axes);
  const Dim count = first.dims()[0];
  Dims row(first.dims().begin() + 1, first.dims().end());
  const Value rows = ir::reshape(ordered_wide(ir::stop_gradient(first)), {count, product(row)});
  const bool is_sorted = node.integer("sorted", 1) != 0;
  const Dim distinct = Dim::fresh("unique.count");
  const std::vector<ir::Type> types{{DType::Int64, {distinct, 2}}, {DType::Int64, {count}}};
  const Values found =
      data_dependent_call("unique_rows", is_sorted ? "sorted" : "first", types, {rows});
  const auto column = [&](int i) {
    return ir::reshape(ir::slice_axis(found[0], 1, i, i + 1), {found[0].dims()[0]});
  };
  const Value indices = column(0);
  return {ir::gather(x, indices, axis), indices, found[1], column(1)};
}

/// Selected boxes as rows of batch, class and box.
Values import_non_max_suppression(NodeContext& node) {
  const Value boxes = node.input(0), scores = node.input(1);
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 &&
                    equal(boxes.dims()[2], 4) != ir::Ternary::No &&
                    equal(boxes.dims()[0], scores.dims()[0]) != ir::Ternary::No &&
                    equal(boxes.dims()[1], scores.dims()[2]) != ir::Ternary::No;
  if (!fits) {
    node.fail(
        text("boxes and scores do not fit (boxes ", boxes.type(), ", scores ", scores.type(), ")"));
  }
  const auto scalar = [&](std::size_t i, DType dtype, double otherwise) {
    return node.has(i) ? ir::cast(ir::reshape(node.input(i), {}), dtype)
                       : ir::scalar_constant(dtype, otherwise);
  };
  const Dims& sizes = scores.dims();
  const Values inputs{ir::cast(ir::with_dims(boxes, {sizes[0], sizes[2], 4}), DType::Float32),
                      ir::cast(scores, DType::Float32), scalar(2, DType::Int64, 0),
                      scalar(3, DType::Float32, 0), scalar(4, DType::Float32, -kBeyondNumbers)};
  const bool is_centered = node.integer("center_point_box", 0) != 0;
  const std::vector<ir::Type> types{{DType::Int64, {Dim::fresh("non_max_suppression.count"), 3}}};
  return data_dependent_call("non_max_suppression", is_centered ? "center" : "corners", types,
                             inputs);
}

constexpr OperatorRow kSelectionRows[] = {
    {"Compress", {9, 11, 28}, import_compress},
    {"NonMaxSuppression", {10, 11}, import_non_max_suppression},
    {"NonZero", {9, 13}, import_non_zero},
    {"TopK", {1, 10, 11, 24}, import_top_k},
    {"Unique", {11, 28}, import_unique},
};

}  // namespace

std::span<const OperatorRow> selection_operators() { return kSelectionRows; }

}  // namespace kiln::onnx
