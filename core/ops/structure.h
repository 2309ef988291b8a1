// Defines indexed, contraction, control, structural and composite ops. Included by table.h only.
// The gradients of Scan and Cond are in core/autodiff.
#pragma once

#include "core/ops/axis_rules.h"
#include "core/ops/build.h"
#include "core/ops/infer_rules.h"

namespace kiln::ir {

using Grads = std::vector<Value>;

std::vector<Type> infer_gather(Inference& in);
std::vector<Type> infer_scatter_add(Inference& in);
std::vector<Type> infer_scatter_sub(Inference& in);
std::vector<Value> expand_scatter_sub(const Node& node, std::span<const Value> operands);
std::vector<Type> infer_dot(Inference& in);
std::vector<Type> infer_scan(Inference& in);
std::vector<Type> infer_while(Inference& in);
std::vector<Type> infer_cond(Inference& in);
std::vector<Type> infer_scale_gradient(Inference& in);
std::vector<Type> infer_host_call(Inference& in);
std::vector<Type> infer_require(Inference& in);
int axis_before_gather(const Node& node, std::size_t operand, int axis);
int axis_before_dot(const Node& node, std::size_t operand, int axis);
Grads grad_dot(const Grad& g);
Grads grad_host_call(const Grad& g);
std::vector<Value> expand_softmax(const Node& node, std::span<const Value> operands);
std::vector<Value> expand_log_softmax(const Node& node, std::span<const Value> operands);
Grads grad_softmax(const Grad& g);
Grads grad_log_softmax(const Grad& g);

inline constexpr OpDef kStructure[] = {
    {.op = Op::Gather,
     .code = 51,
     .name = "gather",
     .operands = {"reference", "indices"},
     .arity = 2,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Indexed,
     .doc = "The entries of `axis` at the integer indices, whose axes replace it.",
     .infer = infer_gather,
     .grad = [](const Grad& g) -> Grads {
       const auto axis = static_cast<int>(g.node.as<AxisAttrs>().axis);
       const Dim& size = g.x[0].dims()[static_cast<std::size_t>(axis)];
       return {scatter_add(g.x[1], g.dy[0], axis, size), {}};
     },
     .gradient = "dreference = scatter_add(indices, dy)",
     .operand_axis = axis_before_gather},
    {.op = Op::ScatterAdd,
     .code = 52,
     .name = "scatter_add",
     .operands = {"indices", "updates"},
     .arity = 2,
     .attrs = attrs_kind<ScatterAttrs>(),
     .lowering = Lowering::Indexed,
     .dtypes = kIntegers,
     .doc = "Zeros of `size` on `axis`, to which the updates are added at the indices, in order.",
     .infer = infer_scatter_add,
     .grad = [](const Grad& g) -> Grads {
       const auto axis = static_cast<int>(g.node.as<ScatterAttrs>().axis);
       return {{}, gather(g.dy[0], g.x[0], axis)};
     },
     .gradient = "dupdates = gather(dy, indices)",
     .combiner = Combiner::Sum},
    {.op = Op::ScatterSub,
     .code = 67,
     .name = "scatter_sub",
     .operands = {"x", "rate", "indices", "updates"},
     .arity = 4,
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "x - rate scatter_add(indices, updates) along axis 0; rate is a scalar. Where rate is "
            "finite and not negative, rows without an index are copied from x.",
     .infer = infer_scatter_sub,
     .grad = [](const Grad& g) -> Grads {
       const Value& rate = g.x[1];
       const Value sums = scatter_add(g.x[2], g.x[3], 0, g.x[0].dims()[0]);
       const Value rows = gather(g.dy[0], g.x[2]);
       const Value all = with_dims(sums, g.x[0].dims());
       const Value scaled = rows * broadcast_to(rate, rows.dims());
       return {g.dy[0],
               neg(reduce_sum(g.dy[0] * all, all_axes(all))),
               {},
               neg(with_dims(scaled, g.x[3].dims()))};
     },
     .gradient = "dx = dy, drate = -sum(dy scatter_add(indices, updates)) and dupdates = "
                 "-rate gather(dy, indices)",
     .expand = expand_scatter_sub},
    {.op = Op::Dot,
     .code = 53,
     .name = "dot",
     .operands = {"lhs", "rhs"},
     .arity = 2,
     .attrs = attrs_kind<DotAttrs>(),
     .lowering = Lowering::Contraction,
     .dtypes = kNumbers,
     .doc = "result[result labels] = sum over the other labels of lhs[lhs labels] rhs[rhs labels].",
     .infer = infer_dot,
     .grad = grad_dot,
     .gradient = "dlhs = dot(dy, rhs) and drhs = dot(lhs, dy) with the labels exchanged",
     .operand_axis = axis_before_dot,
     .combiner = Combiner::Sum},
    {.op = Op::Scan,
     .code = 54,
     .name = "scan",
     .operands = {"inputs"},
     .arity = kVariadic,
     .attrs = attrs_kind<ScanAttrs>(),
     .lowering = Lowering::Control,
     .doc = "(carry, ys[t]) = body(t, consts, carry, xs[t]) for each t; the last carry, then ys. "
            "Over no steps the carry is the initial one.",
     .infer = infer_scan,
     .gradient = "a scan the other way over the vector-Jacobian product of the body"},
    {.op = Op::While,
     .code = 77,
     .name = "while",
     .operands = {"inputs"},
     .arity = kVariadic,
     .attrs = attrs_kind<ScanAttrs>(),
     .lowering = Lowering::Control,
     .doc = "carry = body(t, consts, carry) for t = 0, 1, .. below `length`, as long as the first "
            "carry, a bool scalar, is true; the last carry. A step that does not begin evaluates "
            "nothing of the body.",
     .infer = infer_while,
     .gradient = "an error: how many steps' residuals to store is known only after the last one"},
    {.op = Op::Cond,
     .code = 55,
     .name = "cond",
     .operands = {"inputs"},
     .arity = kVariadic,
     .attrs = attrs_kind<CondAttrs>(),
     .lowering = Lowering::Control,
     .doc = "The results of one branch on the operands after the predicate; only that one runs. "
            "The gradient rematerialises the branch from the operands, without its host calls: no "
            "residuals are stored.",
     .infer = infer_cond,
     .gradient = "a cond of the branches' vector-Jacobian products; zeros for an operand that "
                 "only the other branch uses, none for the predicate"},
    {.op = Op::Identity,
     .code = 56,
     .name = "identity",
     .operands = {"x"},
     .arity = 1,
     .lowering = Lowering::Structural,
     .doc = "x, as a node of its own.",
     .infer = [](Inference& in) -> std::vector<Type> { return {in.type(0)}; },
     .grad = [](const Grad& g) -> Grads { return {g.dy[0]}; },
     .gradient = "dx = dy",
     .operand_axis = same_axis,
     .alias = true},
    {.op = Op::StopGradient,
     .code = 57,
     .name = "stop_gradient",
     .operands = {"x"},
     .arity = 1,
     .lowering = Lowering::Structural,
     .doc = "x, through which no gradient flows.",
     .infer = [](Inference& in) -> std::vector<Type> { return {in.type(0)}; },
     .gradient = "none: by definition",
     .operand_axis = same_axis,
     .alias = true,
     .differentiable = false},
    {.op = Op::ScaleGradient,
     .code = 68,
     .name = "scale_gradient",
     .operands = {"x", "scale"},
     .arity = 2,
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "x, whose gradient is scaled. `scale` is floating-point, of the same dims.",
     .infer = infer_scale_gradient,
     .grad = [](const Grad& g) -> Grads {
       const Value scaled = cast(g.dy[0], g.x[1].dtype()) * g.x[1];
       return {cast(scaled, g.x[0].dtype()), {}};
     },
     .gradient = "dx = dy scale; none for scale",
     .expand = [](const Node&, std::span<const Value> operands) -> std::vector<Value> {
       return {operands[0]};
     },
     .operand_axis = same_axis},
    {.op = Op::HostCall,
     .code = 58,
     .name = "host_call",
     .operands = {"position and inputs"},
     .arity = kVariadic,
     .attrs = attrs_kind<HostCallAttrs>(),
     .lowering = Lowering::Structural,
     .doc = "Calls the host's `function` with the operands after the int64 scalar position. If the "
            "one result has the type of the first input, the gradient passes through unchanged.",
     .infer = infer_host_call,
     .grad = grad_host_call,
     .gradient = "dx = dy where the result has the input's type",
     .reads_state = true},
    {.op = Op::Require,
     .code = 66,
     .name = "require",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<RequireAttrs>(),
     .lowering = Lowering::Composite,
     .doc = "x. Carries a guard: a condition on sizes that no other type rule demands, for "
            "example that a window fits into the input even if there are no window positions.",
     .infer = infer_require,
     .grad = [](const Grad& g) -> Grads { return {g.dy[0]}; },
     .gradient = "dx = dy",
     .expand = [](const Node&, std::span<const Value> operands) -> std::vector<Value> {
       return {operands[0]};
     },
     .operand_axis = same_axis},
    {.op = Op::Softmax,
     .code = 59,
     .name = "softmax",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "exp(x - max x) / sum exp(x - max x) along `axis`.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_axis(in, in.as<AxisAttrs>().axis, in.type(0).rank());
       return {in.type(0)};
     },
     .grad = grad_softmax,
     .gradient = "dx = y (dy - sum(y dy))",
     .expand = expand_softmax,
     .operand_axis = axis_unless_own},
    {.op = Op::LogSoftmax,
     .code = 60,
     .name = "log_softmax",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<AxisAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "x - max x - log(sum exp(x - max x)) along `axis`.",
     .infer = [](Inference& in) -> std::vector<Type> {
       require_axis(in, in.as<AxisAttrs>().axis, in.type(0).rank());
       return {in.type(0)};
     },
     .grad = grad_log_softmax,
     .gradient = "dx = dy - exp(y) sum(dy)",
     .expand = expand_log_softmax,
     .operand_axis = axis_unless_own},
};

}  // namespace kiln::ir
