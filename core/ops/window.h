// Defines sliding windows, and convolutions, which expand to them. Included by table.h only.
#pragma once

#include "core/ops/build.h"

namespace kiln::ir {

using Grads = std::vector<Value>;

std::vector<Type> infer_window(Inference& in);
std::vector<Type> infer_fold(Inference& in);
/// Requires that groups divide channels and filters, and that every window is within the padded
/// input.
std::vector<Type> infer_conv(Inference& in);
Grads grad_window(const Grad& g);
Grads grad_fold(const Grad& g);
Grads grad_conv(const Grad& g);
std::vector<Value> expand_conv(const Node& node, std::span<const Value> operands);

/// The extent in elements of `count` positions of a window of `size`. May evaluate to less than 0
/// for symbolic dims.
Dim span_of(const Dim& count, const Dim& size, std::int64_t stride, std::int64_t dilation);
/// Requires `count` steps that are positive (sizes that are not negative).
void require_steps(Inference& in, const Ints& steps, std::size_t count, const char* what);
void require_sizes(Inference& in, const Dims& sizes, std::size_t count, const char* what);

inline constexpr OpDef kWindows[] = {
    {.op = Op::Window,
     .code = 61,
     .name = "window",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<WindowAttrs>(),
     .lowering = Lowering::Movement,
     .doc = "Overlapping windows of `axes`: y[i.., k..] = x[i stride + k dilation ..]; the windows "
            "are the last axes of the result.",
     .infer = infer_window,
     .grad = grad_window,
     .gradient = "dx = fold(dy)"},
    {.op = Op::Fold,
     .code = 62,
     .name = "fold",
     .operands = {"x"},
     .arity = 1,
     .attrs = attrs_kind<FoldAttrs>(),
     .lowering = Lowering::Indexed,
     .dtypes = kNumbers,
     .doc = "The transpose of window: zeros, to which x[i.., k..] is added at "
            "i stride + k dilation ..",
     .infer = infer_fold,
     .grad = grad_fold,
     .gradient = "dx = window(dy)",
     .combiner = Combiner::Sum},
    {.op = Op::Conv,
     .code = 63,
     .name = "conv",
     .operands = {"first", "second"},
     .arity = 2,
     .attrs = attrs_kind<ConvAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kNumbers,
     .doc = "output[b, i.., o] = sum over k.., c of input[b, i stride + k dilation - low .., c] "
            "filter[k.., c, o], within each group of channels and filters; `role` says which of "
            "the three is the result. An op so that backends can call libraries.",
     .infer = infer_conv,
     .grad = grad_conv,
     .gradient = "the conv whose role is that of the operand",
     .expand = expand_conv},
};

}  // namespace kiln::ir
