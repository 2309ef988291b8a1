// Defines movement ops: index maps without arithmetic. Included by table.h only.
#pragma once

#include "core/ops/axis_rules.h"
#include "core/ops/build.h"
#include "core/ops/infer_rules.h"

namespace kiln::ir {

using Grads = std::vector<Value>;

std::vector<Type> infer_reshape(Inference& in);
std::vector<Type> infer_permute(Inference& in);
std::vector<Type> infer_broadcast(Inference& in);
std::vector<Type> infer_slice(Inference& in);
std::vector<Type> infer_pad(Inference& in);
std::vector<Type> infer_reverse(Inference& in);
std::vector<Type> infer_concat(Inference& in);
int axis_before_reshape(const Node& node, std::size_t operand, int axis);
int axis_before_permute(const Node& node, std::size_t operand, int axis);
int axis_before_broadcast(const Node& node, std::size_t operand, int axis);
int axis_before_slice(const Node& node, std::size_t operand, int axis);
int axis_before_reverse(const Node& node, std::size_t operand, int axis);
Grads grad_permute(const Grad& g);
Grads grad_broadcast(const Grad& g);
Grads grad_slice(const Grad& g);
Grads grad_pad(const Grad& g);
Grads grad_concat(const Grad& g);

inline constexpr OpDef kMovement[] = {
    {.op = Op::Reshape,
     .code = 44,
     .name = "reshape",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<DimsAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "The elements in C order with other dims of the same product.",
     .infer = infer_reshape,
     .grad = [](const Grad& g) -> Grads { return {reshape(g.dy[0], g.x[0].dims())}; },
     .gradient = "dx = reshape(dy)",
     .operand_axis = axis_before_reshape,
     .alias = true},
    {.op = Op::Permute,
     .code = 45,
     .name = "permute",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "Axis i of the result is axis axes[i] of x.",
     .infer = infer_permute,
     .grad = grad_permute,
     .gradient = "dx = permute(dy, inverse)",
     .operand_axis = axis_before_permute},
    {.op = Op::Broadcast,
     .code = 46,
     .name = "broadcast",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<BroadcastAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "Axis i of x becomes axis axes[i] of the result; axes of size 1 and new ones repeat.",
     .infer = infer_broadcast,
     .grad = grad_broadcast,
     .gradient = "dx = sum(dy) over the repeated axes",
     .operand_axis = axis_before_broadcast},
    {.op = Op::Slice,
     .code = 47,
     .name = "slice",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<SliceAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "The elements start, start + step, .. below limit of every axis.",
     .infer = infer_slice,
     .grad = grad_slice,
     .gradient = "dx = pad(dy, 0)",
     .operand_axis = axis_before_slice},
    {.op = Op::Pad,
     .code = 48,
     .name = "pad",
     .operands = {"x", "value"},
     .arity = 2,
     .attrs = attrs_kind<PadAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "`low` copies of the scalar value before, `high` after and `interior` between.",
     .infer = infer_pad,
     .grad = grad_pad,
     .gradient = "dx = slice(dy); dvalue = the sum of the rest of dy"},
    {.op = Op::Reverse,
     .code = 49,
     .name = "reverse",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxesAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "x with the order of elements along `axes` reversed.",
     .infer = infer_reverse,
     .grad = [](const Grad& g) -> Grads { return {reverse(g.dy[0], g.node.as<AxesAttrs>().axes)}; },
     .gradient = "dx = reverse(dy)",
     .operand_axis = axis_before_reverse},
    {.op = Op::Concat,
     .code = 50,
     .name = "concat",
     .operands = {"parts"},
     .arity = kVariadic,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "One or more parts, joined along `axis`.",
     .infer = infer_concat,
     .grad = grad_concat,
     .gradient = "dparts[i] = the slice of dy",
     .operand_axis = axis_unless_own},
};

}  // namespace kiln::ir
