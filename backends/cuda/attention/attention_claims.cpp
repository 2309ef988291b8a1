// The limits are those of the text, whose blocks keep rows of o, dk and dv in registers.
#include "backends/cuda/attention/attention_claims.h"

#include "backends/codegen/bind/attention_shape.h"
#include "backends/cuda/attention/attention_text.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

/// Fewer queries leave most of a block's rows idle, and one block reads all keys of a matrix.
constexpr std::int64_t kMinQueries = 17;
/// Of q and k of an attention, which its blocks read in parts: offsets in a tile fit an int.
constexpr std::int64_t kMaxDepth = 1 << 20;

bool is_at_most(const ir::Dim& dim, std::int64_t most) {
  return dim.is_static() && dim.value() <= most;
}

/// Axes that remain of the batch axes of the bias when neighbours of one kind become one: those
/// that it has, and those along which it is the same.
std::size_t axes_of_bias(const ir::Dims& q, const ir::Dims& bias) {
  std::size_t count = 0;
  bool has_last = false;
  for (std::size_t i = 0; i + 2 < bias.size(); ++i) {
    if (q[i].is_one()) continue;
    const bool has_axis = !bias[i].is_one();
    if (count == 0 || has_axis != has_last) ++count;
    has_last = has_axis;
  }
  return count;
}

}  // namespace

std::optional<std::string> rejection_of_attention_kernels(const ir::Node& node) {
  const DType dtype = node.types[0].dtype;
  if (dtype != DType::Float32) {
    return text("the kernels compute attention only in float32, not in ", dtype);
  }
  const ir::Dims& q = node.operands[0].dims();
  const ir::Dim &t = q.end()[-2], &d = q.back(), &e = node.operands[2].dims().back();
  if (is_at_most(t, kMinQueries - 1)) {
    return text("the kernels compute ", kAttentionTile, " queries at a time, matmuls fewer than ",
                kMinQueries, ", here ", t);
  }
  const bool is_gradient = node.op == ir::Op::AttentionGradient;
  if (!is_at_most(d, is_gradient ? kMaxWidth : kMaxDepth) || !is_at_most(e, kMaxWidth)) {
    return text("the kernels keep rows of at most ", kMaxWidth,
                " elements in registers, not depths of ", d, " and ", e);
  }
  if (!codegen::has_bias(node)) return std::nullopt;
  const std::size_t axes = axes_of_bias(q, node.operands[4].dims());
  if (axes <= kMaxBiasAxes) return std::nullopt;
  return text("the kernels take a bias of at most ", kMaxBiasAxes, " batch axes, not ", axes);
}

}  // namespace kiln::cuda
