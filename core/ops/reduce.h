// Defines reductions and running reductions (prefix scans). Included by table.h only.
#pragma once

#include "core/ops/axis_rules.h"
#include "core/ops/build.h"
#include "core/ops/infer_rules.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::ir {

using Grads = std::vector<Value>;

/// Requires axes that are ascending and in range; the result has the other axes.
std::vector<Type> infer_reduce(Inference& in);
std::vector<Type> infer_arg_max(Inference& in);
std::vector<Type> infer_cumulate(Inference& in);
int axis_before_arg_max(const Node& node, std::size_t operand, int axis);
Grads grad_prod(const Grad& g);
Grads grad_minmax(const Grad& g);
Grads grad_cumprod(const Grad& g);

inline Grads grad_sum(const Grad& g) {
  return {broadcast_over(g.dy[0], g.x[0].dims(), g.node.as<AxesAttrs>().axes)};
}
inline Grads grad_cumsum(const Grad& g) {
  const std::int64_t axis = g.node.as<AxisAttrs>().axis;
  const Value reversed = reverse(g.dy[0], {axis});
  return {reverse(make(Op::CumSum, AxisAttrs{axis}, {reversed}), {axis})};
}

inline constexpr OpDef kReduce[] = {
    {.op = Op::Sum,
     .code = 37,
     .name = "sum",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Reduce,
     .dtypes = kNumbers,
     .doc = "The sum over `axes`, which are dropped; 0 over no elements.",
     .infer = infer_reduce,
     .grad = grad_sum,
     .gradient = "dx = broadcast(dy)",
     .operand_axis = axis_before_reduction,
     .combiner = Combiner::Sum},
    {.op = Op::Prod,
     .code = 38,
     .name = "prod",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Reduce,
     .dtypes = kNumbers,
     .doc = "The product over `axes`, which are dropped; 1 over no elements.",
     .infer = infer_reduce,
     .grad = grad_prod,
     .gradient = "dx = dy (product of the elements before) (product of those after)",
     .operand_axis = axis_before_reduction,
     .combiner = Combiner::Prod},
    {.op = Op::Max,
     .code = 39,
     .name = "max",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Reduce,
     .doc = "The largest element over `axes`, which are dropped; NaN when one is; any for bool.",
     .infer = infer_reduce,
     .grad = grad_minmax,
     .gradient = "dx = dy (x = y) / (number of x = y)",
     .operand_axis = axis_before_reduction,
     .combiner = Combiner::Max},
    {.op = Op::Min,
     .code = 40,
     .name = "min",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Reduce,
     .doc = "The smallest element over `axes`, which are dropped; NaN when one is; all for bool.",
     .infer = infer_reduce,
     .grad = grad_minmax,
     .gradient = "dx = dy (x = y) / (number of x = y)",
     .operand_axis = axis_before_reduction,
     .combiner = Combiner::Min},
    {.op = Op::ArgMax,
     .code = 41,
     .name = "arg_max",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Reduce,
     .doc = "The index of the first largest element along `axis`, as int64; NaN is the largest.",
     .infer = infer_arg_max,
     .gradient = "none: an index",
     .operand_axis = axis_before_arg_max,
     .combiner = Combiner::ArgMax,
     .differentiable = false},
    {.op = Op::CumSum,
     .code = 42,
     .name = "cum_sum",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Running,
     .dtypes = kNumbers,
     .doc = "y[i] = x[0] + .. + x[i] along `axis`.",
     .infer = infer_cumulate,
     .grad = grad_cumsum,
     .gradient = "dx = reverse(cum_sum(reverse(dy)))",
     .operand_axis = axis_unless_own,
     .combiner = Combiner::Sum},
    {.op = Op::CumProd,
     .code = 43,
     .name = "cum_prod",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Running,
     .dtypes = kNumbers,
     .doc = "y[i] = x[0] .. x[i] along `axis`.",
     .infer = infer_cumulate,
     .grad = grad_cumprod,
     .gradient = "dx[j] = sum over i >= j of dy[i] (product of x[0..i] without x[j])",
     .operand_axis = axis_unless_own,
     .combiner = Combiner::Prod},
};

}  // namespace kiln::ir
