// Defines the op that combines values of several processes. Included by table.h only.
#pragma once

#include "core/ops/axis_rules.h"
#include "core/ops/build.h"

namespace kiln::ir {

using Grads = std::vector<Value>;

std::vector<Type> infer_collective(Inference& in);
Grads grad_collective(const Grad& g);
std::vector<Value> expand_collective(const Node& node, std::span<const Value> operands);

inline constexpr OpDef kCollectives[] = {
    {.op = Op::Collective,
     .code = 70,
     .name = "collective",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<CollectiveAttrs>(),
     .lowering = Lowering::Composite,
     .doc = "Combines x of all `ranks` of `group`, each of which runs the node; x itself for one. "
            "Gradients are those of the sum of all ranks' losses. A sum adds in the order of a "
            "fixed tree over ranks, halves in float32, and rounds once.",
     .infer = infer_collective,
     .grad = grad_collective,
     .gradient = "dx is dy of all ranks: all_reduce(dy) of a sum, times (x = y) / (ranks with "
                 "x = y) of max and min; reduce_scatter(dy) of all_gather, and the reverse; "
                 "reduce(dy) of broadcast, and the reverse",
     .expand = expand_collective,
     .reads_state = true},
};

}  // namespace kiln::ir
