// Defines arg_sort. Included by table.h only.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

std::vector<Type> infer_arg_sort(Inference& in);
std::vector<Value> expand_arg_sort(const Node& node, std::span<const Value> operands);

inline constexpr OpDef kSorts[] = {
    {.op = Op::ArgSort,
     .code = 76,
     .name = "arg_sort",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<SortAttrs>(),
     .lowering = Lowering::Composite,
     .doc = "The indices of the elements along `axis` in ascending or descending order, as int64; "
            "equal elements, such as zeros of both signs, stay in order; NaN is the largest. The "
            "sorted values are a gather at these indices, which has the gradient; so one result "
            "suffices. The expansion is a radix sort in O(n) per bit of the dtype, of ops that "
            "every backend has.",
     .infer = infer_arg_sort,
     .gradient = "none: indices",
     .expand = expand_arg_sort,
     .operand_axis = [](const Node& node, std::size_t,
                        int axis) { return axis == node.as<SortAttrs>().axis ? kNoAxis : axis; },
     .differentiable = false},
};

}  // namespace kiln::ir
