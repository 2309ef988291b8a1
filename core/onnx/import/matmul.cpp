// Imports matmuls and determinants.
#include <kiln/linalg.h>

#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

Values import_matmul(NodeContext& node) {
  return {value_of(kiln::matmul(node.tensor(0), node.tensor(1)), "x")};
}

/// x times a number that integers round toward zero only after the product.
Value gemm_scaled(const Value& x, double factor) {
  if (factor == 1) return x;
  if (is_float(x.dtype())) return x * factor;
  return ir::cast(ir::cast(x, DType::Float64) * factor, x.dtype());
}

/// alpha A B + beta C, with A and B transposed as the node says. C broadcasts, in opset 6 only with
/// `broadcast`.
Values import_gemm(NodeContext& node) {
  const Value a = node.input(0), b = node.input(1);
  if (a.rank() != 2 || b.rank() != 2) {
    node.fail(text("A and B are not matrices (A ", a.type(), ", B ", b.type(), ")"));
  }
  enum Label : std::int64_t { kRow, kInner, kColumn };
  const bool is_a_transposed = node.integer("transA", 0) != 0;
  const bool is_b_transposed = node.integer("transB", 0) != 0;
  const Value product =
      ir::dot(a, is_a_transposed ? Ints{kInner, kRow} : Ints{kRow, kInner}, b,
              is_b_transposed ? Ints{kColumn, kInner} : Ints{kInner, kColumn}, {kRow, kColumn});
  const Value y = gemm_scaled(product, node.number("alpha", 1));
  const double beta = node.number("beta", 1);
  if (!node.has(2) || beta == 0) return {y};
  const Value c = node.input(2);
  const Dims dims = broadcast_dims(c.type(), y.type(), {"C", "A B"});
  if (equal(dims, y.dims()) == ir::Ternary::No) {
    node.fail(text("C does not broadcast to A B (C ", c.type(), ", A B ", y.type(), ")"));
  }
  return {y + gemm_scaled(ir::broadcast_to(c, y.dims()), beta)};
}

/// One step of Gaussian elimination with partial pivoting on matrices (count, n, n): row t is
/// swapped with the row of the largest |element| of column t, and removed from the rows below.
/// Returns the matrices and the factor of the determinant, the pivot with the sign of the swap.
std::pair<Value, Value> elimination_step(const Value& t, const Value& matrices) {
  const Dims& dims = matrices.dims();
  const Dims vector{dims[0], dims[1]};
  const auto wide = [&](const Value& x, std::int64_t axis) {
    return ir::broadcast(x, dims, {0, axis});
  };
  const Value row = ir::iota({DType::Int64, vector}, 1);
  const Value step = ir::broadcast_to(t, vector);
  const Value column = ir::gather(matrices, t, 2), top = ir::gather(matrices, t, 1);
  const Value size = ir::select(ir::less(row, step), ir::like(column, -1),
                                ir::unary(Op::Abs, ir::stop_gradient(column)));
  const Value best = ir::make(Op::ArgMax, ir::AxisAttrs{1}, {size});
  const Value is_best = ir::equal_to(row, ir::broadcast(best, vector, {0}));
  const Value is_top = ir::equal_to(row, step);
  const auto sum_of = [&](const Value& condition, const Value& x, const Ints& axes) {
    return ir::reduce_sum(ir::select(condition, x, ir::zeros_like(x)), axes);
  };
  const Value pivot_row = sum_of(wide(is_best, 1), matrices, {1});
  const Value pivot = sum_of(is_best, column, {1});
  const Value swapped = ir::select(wide(is_top, 1), wide(pivot_row, 2),
                                   ir::select(wide(is_best, 1), wide(top, 2), matrices));
  const Value divisor =
      ir::select(ir::equal_to(pivot, ir::zeros_like(pivot)), ir::like(pivot, 1), pivot);
  const Value below = ir::gather(swapped, t, 2) / ir::broadcast(divisor, vector, {0});
  const Value factor = ir::select(ir::less(step, row), below, ir::zeros_like(below));
  const Value is_kept = ir::equal_to(best, ir::broadcast_to(t, best.dims()));
  return {swapped - wide(factor, 1) * wide(pivot_row, 2), ir::select(is_kept, pivot, -pivot)};
}

/// The product of the pivots: a loop over the rows.
Values import_det(NodeContext& node) {
  const Value x = node.input(0);
  if (x.rank() < 2) node.fail(text("x has no matrices (x ", x.type(), ")"));
  const Dims batch(x.dims().begin(), x.dims().end() - 2);
  const Dim n = x.dims().back(), count = product(batch);
  Dims square = x.dims();
  square[at(x.rank() - 2)] = n;
  const Value matrices = ir::reshape(ir::with_dims(x, square), {count, n, n});
  const Value one = ir::full(x.dtype(), {count}, 1);
  const ir::LambdaBuilder builder({{DType::Int64, {}}, matrices.type(), one.type()});
  ir::Trace trace;
  Values results;
  {
    const ir::Trace::Scope tracing(trace);
    const auto [next, factor] = elimination_step(builder.parameters()[0], builder.parameters()[1]);
    results = {next, builder.parameters()[2] * factor};
  }
  const ir::TracedBody body{.builder = builder, .results = results, .trace = trace};
  const ir::NodeRef scan = ir::make_scan(body, {matrices, one}, {}, n, /*reverse=*/false);
  return {ir::reshape(Value{scan, 1}, batch)};
}

constexpr OperatorRow kMatmulRows[] = {
    {"Det", {11, 22}, import_det},
    {"Gemm", {6, 7, 9, 11, 13}, import_gemm},
    {"MatMul", {1, 9, 13}, import_matmul},
};

}  // namespace

std::span<const OperatorRow> matmul_operators() { return kMatmulRows; }

}  // namespace kiln::onnx
