// Bounds the workspace of a gradient, which holds a matrix of halves for each matrix of the batch,
// by computing the batch in parts.
#include "backends/cuda/execute/bind_half_attention.h"

#include "backends/codegen/bind/attention_shape.h"
#include "backends/codegen/bind/slot_sizes.h"
#include "backends/cuda/execute/source_errors.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using codegen::AttentionShape;
using codegen::checked_product;

constexpr std::int64_t kMaxMatrices = 32768;  // grids of the library's kernels have such an axis
/// The rows and columns of the library's tiles.
constexpr std::int64_t kTileRows = 64, kTileColumns = 128;

std::int64_t matrices_at_once(const AttentionShape& shape) {
  if (!shape.is_gradient) return kMaxMatrices;
  const std::int64_t rows = codegen::ceil_div(shape.t, kTileRows);
  const std::int64_t columns = codegen::ceil_div(shape.s, kTileColumns);
  constexpr std::int64_t kMaxTiles = kMaxWorkspaceBytes / (kTileRows * kTileColumns * 2);
  return std::clamp<std::int64_t>(kMaxTiles / rows / columns, 1, kMaxMatrices);
}

}  // namespace

std::int64_t operations_of(const DeviceHalfAttention& bound) {
  constexpr std::size_t kFills = 3, kKernels = 4;  // of a result each; of a part, by no promise
  return static_cast<std::int64_t>(std::max(kFills, kKernels * bound.parts.size()));
}

DeviceHalfAttention bind_half_attention(const codegen::AttentionStep& step,
                                        const CudnnLibrary& library,
                                        const codegen::EvaluateDim& evaluate) {
  DeviceHalfAttention bound;
  const AttentionShape shape = codegen::attention_shape(*step.node, evaluate);
  const std::int64_t matrices = shape.matrices();
  if (matrices == 0 || shape.t == 0 || shape.s == 0) return bound;
  const std::int64_t at_once = std::min(matrices, matrices_at_once(shape));
  std::int64_t workspace = 0;
  for (std::int64_t first = 0; first < matrices; first += at_once) {
    const std::int64_t count = std::min(at_once, matrices - first);
    bound.parts.push_back(
        {with_source(*step.node,
                     [&] { return library.prepare(describe(*step.node, shape, count)); }),
         first});
    workspace = std::max(workspace, bound.parts.back().prepared->workspace_bytes());
  }
  const auto append = [&](std::int64_t bytes) {
    const std::int64_t offset = codegen::aligned(bound.scratch_bytes);
    bound.scratch_bytes = codegen::checked_sum(offset, bytes, step.node);
    return offset;
  };
  const std::int64_t floats =
      checked_product(checked_product(at_once, shape.t, step.node), sizeof(float), step.node);
  if (shape.is_gradient) bound.query_sums = append(floats);
  if (!shape.is_gradient && !step.results[1]) bound.log_sums = append(floats);
  bound.workspace = append(workspace);
  return bound;
}

}  // namespace kiln::cuda
