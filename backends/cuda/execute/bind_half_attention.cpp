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

/// The matrices that a workspace of kMaxWorkspaceBytes holds, less a tile for the library's own
/// part.
std::int64_t max_matrices(const AttentionShape& shape) {
  if (!shape.is_gradient) return kMaxMatrices;
  const std::int64_t rows = codegen::ceil_div(shape.t, kTileRows);
  const std::int64_t columns = codegen::ceil_div(shape.s, kTileColumns);
  constexpr std::int64_t kMaxTiles = kMaxWorkspaceBytes / (kTileRows * kTileColumns * 2) - 1;
  return std::clamp<std::int64_t>(kMaxTiles / rows / columns, 1, kMaxMatrices);
}

/// Parts of nearly equal size, so that most have one plan. Of four matrices or more, they are
/// multiples of four: the logarithms of each part begin at a multiple of 16 bytes.
std::int64_t matrices_of_part(const AttentionShape& shape) {
  const std::int64_t matrices = shape.matrices(), limit = max_matrices(shape);
  if (matrices <= limit) return matrices;
  const std::int64_t even = codegen::ceil_div(matrices, codegen::ceil_div(matrices, limit));
  return limit < 4 ? even : std::min(codegen::ceil_div(even, 4) * 4, limit / 4 * 4);
}

}  // namespace

std::int64_t operations_of(const DeviceHalfAttention& bound) {
  constexpr std::size_t kFills = 3;  // of a result each
  constexpr std::size_t kKernelsOfPart = 4;  // the library does not say
  return static_cast<std::int64_t>(std::max(kFills, kKernelsOfPart * bound.parts.size()));
}

DeviceHalfAttention bind_half_attention(const codegen::AttentionStep& step,
                                        const CudnnLibrary& library,
                                        const codegen::EvaluateDim& evaluate) {
  DeviceHalfAttention bound;
  const AttentionShape shape = codegen::attention_shape(*step.node, evaluate);
  const std::int64_t matrices = shape.matrices();
  if (matrices == 0 || shape.t == 0 || shape.s == 0) return bound;
  const std::int64_t at_once = matrices_of_part(shape);
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
