// Defines attention and attention_gradient. Included by table.h only.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

std::vector<Type> infer_attention(Inference& in);
std::vector<Type> infer_attention_gradient(Inference& in);
std::vector<Value> expand_attention(const Node& node, std::span<const Value> operands);
std::vector<Value> expand_attention_gradient(const Node& node, std::span<const Value> operands);
std::vector<Value> grad_attention(const Grad& g);

inline constexpr OpDef kAttention[] = {
    {.op = Op::Attention,
     .code = 78,
     .name = "attention",
     .operands = {"q, k, v, scale and bias"},
     .arity = kVariadic,
     .attrs = attrs_kind<AttentionAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "p v, where p = softmax(scale q k^T + bias) over the keys, for q (.., t, d), k "
            "(.., s, d), v (.., s, e), a scalar scale, which may divide instead, and, if there is "
            "a fifth operand, a bias (.., t, s), whose axes may be 1. The second result is the "
            "logarithm of the sum of exponentials of the scores (.., t). A causal query i has the "
            "score -inf for the keys after i. A query whose scores are all -inf gives NaN.",
     .infer = infer_attention,
     .grad = grad_attention,
     .gradient = "attention_gradient(q, k, v, scale, bias, y, dy)",
     .expand = expand_attention},
    {.op = Op::AttentionGradient,
     .code = 79,
     .name = "attention_gradient",
     .operands = {"q, k, v, scale, bias, o, lse and do"},
     .arity = kVariadic,
     .attrs = attrs_kind<AttentionAttrs>(),
     .lowering = Lowering::Composite,
     .dtypes = kFloats,
     .doc = "The cotangents of q, k, v and, if there is one, the bias, given the operands of an "
            "attention, its two results and the cotangent do of the first: with ds = p (do v^T - "
            "sum(p do v^T)), they are scale ds k, scale ds^T q, p^T do, and ds summed over the "
            "axes where the bias has 1.",
     .infer = infer_attention_gradient,
     .gradient = "that of its expansion",
     .expand = expand_attention_gradient},
};

}  // namespace kiln::ir
