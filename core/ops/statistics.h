// Defines statistics over whole axes, which are composites. Included by table.h only.
#pragma once

#include "core/ops/axis_rules.h"
#include "core/ops/infer_rules.h"
#include "core/ops/reduce.h"

namespace kiln::ir {

std::vector<Value> expand_variance(const Node& node, std::span<const Value> operands);
Grads grad_variance(const Grad& g);

inline constexpr OpDef kStatistics[] = {
    {.op = Op::Variance,
     .code = 65,
     .name = "variance",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "The mean of (x - mean x)^2 over `axes`, which are dropped; NaN over no elements. An "
            "op of its own because its gradient is cheaper than that of the expansion, which sums "
            "all deviations in another pass over x although the sum is zero.",
     .infer = infer_reduce,
     .grad = grad_variance,
     .gradient = "dx = 2 dy (x - mean x) / (number of x)",
     .expand = expand_variance,
     .operand_axis = axis_before_reduction},
};

}  // namespace kiln::ir
