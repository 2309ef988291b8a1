// Describes an attention of float16 or bfloat16 for cuDNN, and decides which it computes.
#pragma once

#include "core/ir/node.h"

#include <compare>
#include <optional>
#include <string>

namespace kiln::codegen {
struct AttentionShape;
}

namespace kiln::cuda {

/// Dense tensors: q (matrices, t, d), k (matrices, s, d), v and o (.., e); lse (matrices, t) in
/// float32. No tensor is empty.
struct AttentionDescription {
  bool is_gradient = false;
  DType dtype = DType::BFloat16;
  std::int64_t matrices = 0, t = 0, s = 0, d = 0, e = 0;
  bool causal = false;
  float scale = 1;  // multiplies the scores

  auto operator<=>(const AttentionDescription&) const = default;
};

/// "gradient bfloat16, q 24x1000x64, k 24x333x64, v 24x333x64, causal".
std::string text_of(const AttentionDescription& attention);

/// The reason why cuDNN does not compute the Attention or AttentionGradient of halves; empty: it
/// does.
std::optional<std::string> rejection_of_half_attention(const ir::Node& node);

/// Describes the first `matrices` of the batch. REQUIRES: rejection_of_half_attention() is empty.
AttentionDescription describe(const ir::Node& node, const codegen::AttentionShape& shape,
                              std::int64_t matrices);

}  // namespace kiln::cuda
