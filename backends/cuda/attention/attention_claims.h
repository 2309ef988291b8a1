// Decides which attention the kernels of this folder compute.
#pragma once

#include "core/ir/node.h"

#include <optional>
#include <string>

namespace kiln::cuda {

/// The reason why matmuls and a softmax compute the Attention or AttentionGradient instead; empty:
/// the kernels do.
std::optional<std::string> rejection_of_attention_kernels(const ir::Node& node);

}  // namespace kiln::cuda
