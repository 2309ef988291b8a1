// Attention in blocks of queries and tiles of keys, in O(t + s) memory (attention_loops.h). It
// allocates nothing when it runs.
#pragma once

#include "backends/codegen/host/prepared/attention.h"
#include "backends/cpu/gemm/native_gemm.h"
#include "core/ir/node.h"

#include <memory>
#include <optional>

namespace kiln::cpu {

/// The reason why matmuls and a softmax compute the Attention or AttentionGradient instead; empty:
/// the loops do.
std::optional<std::string> rejection_of_native_attention(const ir::Node& node);

/// REQUIRES: the machine has the ISA; the node is not rejected, and its results have elements.
std::shared_ptr<const codegen::PreparedAttention> make_native_attention(
    const codegen::AttentionShape& shape, GemmIsa isa);

}  // namespace kiln::cpu
