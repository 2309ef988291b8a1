// Imports reductions, running sums and norms.
#include <kiln/reduce.h>

#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// The axes: an attribute, or an input in later opsets. None: all, or with noop_with_empty_axes no
/// axis at all.
Ints reduced_axes(NodeContext& node, const Value& x) {
  const auto given = node.attribute_or_input("axes", 1);
  const bool is_none = !given || given->empty();
  if (!is_none) return node.axes(*given, x.rank());
  if (node.integer("noop_with_empty_axes", 0) != 0) return {};
  return ir::all_axes(x);
}

Value with_kept_axes(NodeContext& node, const Value& reduced, const Value& x, const Ints& axes) {
  return node.integer("keepdims", 1) != 0 ? with_ones(reduced, x, axes) : reduced;
}

/// function(x, axes) over the node's axes.
template <class Function>
Values reduced(NodeContext& node, const Function& function) {
  const Value x = node.input(0);
  const Ints axes = reduced_axes(node, x);
  return {with_kept_axes(node, function(x, axes), x, axes)};
}

template <Op op>
Values reduction(NodeContext& node) {
  return reduced(node, [](const Value& x, const Ints& axes) { return ir::reduce(op, x, axes); });
}

Values import_reduce_mean(NodeContext& node) {
  return reduced(node, [](const Value& x, const Ints& axes) {
    if (is_float(x.dtype())) return ir::reduce_mean(x, axes);
    const Value sum = ir::reduce_sum(x, axes);
    const Value count = ir::cast(ir::dim_size(ir::count_along(x, axes)), x.dtype());
    return sum / ir::broadcast_to(count, sum.dims());
  });
}

Values import_reduce_l1(NodeContext& node) {
  return reduced(node, [](const Value& x, const Ints& axes) {
    return ir::reduce_sum(ir::unary(Op::Abs, x), axes);
  });
}

Value square_sum(const Value& x, const Ints& axes) { return ir::reduce_sum(x * x, axes); }

Values import_reduce_l2(NodeContext& node) {
  return reduced(node, [](const Value& x, const Ints& axes) {
    const Value sum = square_sum(x, axes);
    return is_float(x.dtype()) ? sqrt_or_zero(sum)
                               : ir::cast(sqrt_or_zero(ir::cast(sum, DType::Float64)), x.dtype());
  });
}

Values import_reduce_sum_square(NodeContext& node) { return reduced(node, square_sum); }

/// The same in float64 for integers, whose results are cast back.
template <class Function>
Values reduced_as_floats(NodeContext& node, const Function& function) {
  return reduced(node, [&](const Value& x, const Ints& axes) {
    if (is_float(x.dtype())) return function(x, axes);
    return ir::cast(function(ir::cast(x, DType::Float64), axes), x.dtype());
  });
}

Values import_reduce_log_sum(NodeContext& node) {
  return reduced_as_floats(node, [](const Value& x, const Ints& axes) {
    return ir::unary(Op::Log, ir::reduce_sum(x, axes));
  });
}

Values import_reduce_log_sum_exp(NodeContext& node) {
  return reduced_as_floats(node, [](const Value& x, const Ints& axes) {
    if (axes.empty()) return x;
    return value_of(kiln::logsumexp(wrap(x), {.axis = Axes(axes)}), "x");
  });
}

/// Of the smallest: the largest of the negated elements. With select_last_index, the last of
/// several equal ones: the first of the reversed axis.
Values arg_best(NodeContext& node, bool is_min) {
  const Value x = node.input(0);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const bool is_last = node.integer("select_last_index", 0) != 0;
  const auto index = [&](const Value& ordered) {
    return is_min ? value_of(kiln::argmin(wrap(ordered), {.axis = axis}), "x")
                  : ir::make(Op::ArgMax, ir::AxisAttrs{axis}, {ordered});
  };
  Value best = index(is_last ? ir::reverse(x, {axis}) : x);
  if (is_last) {
    const Value last = ir::dim_size(x.dims()[at(axis)] - 1);
    best = ir::broadcast_to(last, best.dims()) - best;
  }
  return {with_kept_axes(node, best, x, {axis})};
}

Values import_arg_max(NodeContext& node) { return arg_best(node, false); }
Values import_arg_min(NodeContext& node) { return arg_best(node, true); }

/// exclusive: each element is the sum, or product, of those before it.
template <Op op>
Values running(NodeContext& node) {
  Value x = node.input(0);
  const int axis = node.axis(known_integer(node, 1, "axis"), x.rank());
  const bool is_reversed = node.integer("reverse", 0) != 0;
  if (is_reversed) x = ir::reverse(x, {axis});
  if (node.integer("exclusive", 0) != 0) {
    ir::Dims low(at(x.rank()), 0), high = low, limit = x.dims();
    low[at(axis)] = 1;
    const Value neutral = ir::scalar_constant(x.dtype(), op == Op::CumProd ? 1 : 0);
    x = ir::slice(ir::pad(x, neutral, low, high), high, limit);
  }
  const Value y = ir::make(op, ir::AxisAttrs{axis}, {x});
  return {is_reversed ? ir::reverse(y, {axis}) : y};
}

/// x / (sum |x|^p)^(1/p) along an axis; 0 / 0 is 0.
Values import_lp_normalization(NodeContext& node) {
  const Value x = node.input(0);
  const std::int64_t p = node.integer("p", 2);
  const int axis = node.axis(node.integer("axis", -1), x.rank());
  if (p != 1 && p != 2) node.fail(text("p is ", p, ", neither 1 nor 2"));
  const Value norm =
      p == 1 ? ir::reduce_sum(ir::unary(Op::Abs, x), {axis}) : sqrt_or_zero(square_sum(x, {axis}));
  const Value wide = ir::broadcast_over(norm, x.dims(), {axis});
  const Value is_zero = ir::equal_to(wide, ir::zeros_like(wide));
  return {x / ir::select(is_zero, ir::like(wide, 1), wide)};
}

/// (x - mean) / sqrt(variance), over all axes but the channels by default; 1e-9 as ONNX has it.
Values import_mean_variance_normalization(NodeContext& node) {
  const Value x = node.input(0);
  const Ints axes = node.axes(node.integers("axes").value_or(Ints{0, 2, 3}), x.rank());
  const Value deviation = ir::deviations(x, axes);
  const Value spread = ir::unary(Op::Sqrt, ir::variance(x, axes)) + 1e-9;
  return {deviation / ir::broadcast_over(spread, x.dims(), axes)};
}

constexpr OperatorRow kReduceRows[] = {
    {"ArgMax", {1, 11, 12, 13}, import_arg_max},
    {"ArgMin", {1, 11, 12, 13}, import_arg_min},
    {"CumProd", {26}, running<Op::CumProd>},
    {"CumSum", {11, 14}, running<Op::CumSum>},
    {"LpNormalization", {1, 22}, import_lp_normalization},
    {"MeanVarianceNormalization", {9, 13}, import_mean_variance_normalization},
    {"ReduceL1", {1, 11, 13, 18}, import_reduce_l1},
    {"ReduceL2", {1, 11, 13, 18}, import_reduce_l2},
    {"ReduceLogSum", {1, 11, 13, 18, 28}, import_reduce_log_sum},
    {"ReduceLogSumExp", {1, 11, 13, 18, 28}, import_reduce_log_sum_exp},
    {"ReduceMax", {1, 11, 12, 13, 18, 20}, reduction<Op::Max>},
    {"ReduceMean", {1, 11, 13, 18}, import_reduce_mean},
    {"ReduceMin", {1, 11, 12, 13, 18, 20}, reduction<Op::Min>},
    {"ReduceProd", {1, 11, 13, 18}, reduction<Op::Prod>},
    {"ReduceSum", {1, 11, 13}, reduction<Op::Sum>},
    {"ReduceSumSquare", {1, 11, 13, 18}, import_reduce_sum_square},
};

}  // namespace

std::span<const OperatorRow> reduce_operators() { return kReduceRows; }

}  // namespace kiln::onnx
