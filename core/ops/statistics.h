// Definitions of composites over whole axes. Included by table.h alone.
#pragma once

#include "core/ops/infer_rules.h"
#include "core/ops/reduce.h"

namespace kiln::ir {

std::vector<Value> expand_variance(const Node& node, std::span<const Value> operands);
Grads grad_variance(const Grad& g);

inline constexpr OpDef kStatistics[] = {
    {.op = Op::Variance, .code = 65,
     .name = "variance",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "The mean of (x - mean x)^2 over `axes`, which are dropped; NaN over nothing. An op of "
            "its own for the sake of its gradient: that of the expansion adds up all deviations, "
            "whose sum is zero, in one more pass over x.",
     .infer = infer_reduce,
     .grad = grad_variance,
     .gradient = "dx = 2 dy (x - mean x) / (number of x)",
     .expand = expand_variance},
};

}  // namespace kiln::ir
