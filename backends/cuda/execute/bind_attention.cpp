// Divides the keys of a gradient into groups where there are few matrices, each with a dq of its
// own, which are added in order.
#include "backends/cuda/execute/bind_attention.h"

#include "backends/codegen/bind/slot_sizes.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using codegen::AttentionShape;
using codegen::ceil_div;
using codegen::checked_product;
using Work = AttentionFunction::Work;

constexpr std::int64_t kFloatBytes = sizeof(float), kFlagBytes = sizeof(std::uint32_t);
/// Of a gradient, where the keys have as many tiles: two for each multiprocessor of an H100. A
/// constant, so that bits depend on the sizes alone.
constexpr std::int64_t kMinGradientBlocks = 264;
/// Bounds the memory of their dq.
constexpr std::int64_t kMaxGroups = 16;

/// Appends an axis of the batch, merged with the one before it where the strides allow it.
struct BiasAxes {
  std::vector<std::int64_t> sizes, strides;

  void add(std::int64_t size, std::int64_t stride) {
    if (size == 1) return;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
      return;
    }
    sizes.push_back(size);
    strides.push_back(stride);
  }
};

void set_bias(const AttentionShape& shape, AttentionArguments::Sizes& sizes) {
  sizes.bias_row = shape.bias_t;
  sizes.bias_key = shape.bias_s;
  BiasAxes axes;
  for (std::size_t i = 0; i < shape.batch.size(); ++i) {
    axes.add(shape.batch[i], shape.bias_batch[i]);
  }
  const std::size_t first = kMaxBiasAxes - axes.sizes.size();
  std::copy(axes.sizes.begin(), axes.sizes.end(), sizes.batch + first);
  std::copy(axes.strides.begin(), axes.strides.end(), sizes.bias_batch + first);
}

AttentionArguments::Sizes sizes_of(const AttentionShape& shape) {
  AttentionArguments::Sizes sizes{.t = shape.t,
                                  .s = shape.s,
                                  .d = shape.d,
                                  .e = shape.e,
                                  .divides = shape.divides ? 1 : 0,
                                  .causal = shape.causal ? 1 : 0,
                                  .groups = 1,
                                  .matrices = shape.matrices()};
  if (shape.has_bias) set_bias(shape, sizes);
  if (shape.is_gradient && sizes.matrices > 0) {
    const std::int64_t tiles = ceil_div(shape.s, kAttentionTile);
    const std::int64_t wanted = ceil_div(kMinGradientBlocks, sizes.matrices);
    sizes.groups = std::max<std::int64_t>(1, std::min({wanted, tiles, kMaxGroups}));
  }
  return sizes;
}

/// Tiles of keys, and of a gradient also of queries.
std::int64_t tiles_of(bool is_gradient, const AttentionArguments::Sizes& sizes) {
  const std::int64_t queries = is_gradient ? ceil_div(sizes.t, kAttentionTile) : 0;
  return sizes.matrices * (ceil_div(sizes.s, kAttentionTile) + queries);
}

/// 0: the function is not needed.
std::int64_t units_of(Work work, bool is_gradient, const AttentionArguments::Sizes& sizes) {
  switch (work) {
    case Work::FiniteTiles:
      return sizes.causal == 0 ? 0 : ceil_div(tiles_of(is_gradient, sizes), kFlaggedTiles);
    case Work::Forward:
    case Work::QueryFacts: return sizes.matrices * ceil_div(sizes.t, kAttentionTile);
    case Work::Gradient: return sizes.matrices * sizes.groups;
    case Work::AddGroups: break;
  }
  if (sizes.groups == 1) return 0;
  return ceil_div(sizes.matrices * sizes.t * sizes.d, kAddedElements);
}

/// Lays out the scratch memory: facts of queries, a dq of each group, flags of tiles.
void place_scratch(const ir::Node& node, bool is_gradient, DeviceAttention& bound) {
  const AttentionArguments::Sizes& sizes = bound.sizes;
  const auto append = [&](std::int64_t count, std::int64_t bytes) {
    const std::int64_t offset = codegen::aligned(bound.scratch_bytes);
    bound.scratch_bytes = codegen::checked_sum(offset, checked_product(count, bytes, &node), &node);
    return offset;
  };
  const std::int64_t queries = checked_product(sizes.matrices, sizes.t, &node);
  if (is_gradient) append(queries, kQueryFacts * kFloatBytes);
  if (sizes.groups > 1) {
    const std::int64_t elements = checked_product(queries, sizes.d, &node);
    bound.group_dq = append(elements, sizes.groups * kFloatBytes);
  }
  if (sizes.causal != 0) bound.finite = append(tiles_of(is_gradient, sizes), kFlagBytes);
}

}  // namespace

std::int64_t operations_of(const DeviceAttention& bound) {
  constexpr std::size_t kFills = 3;
  return static_cast<std::int64_t>(bound.launches.empty() ? kFills : bound.launches.size());
}

DeviceAttention bind_attention(const codegen::AttentionStep& step, const AttentionKernels& kernels,
                               const codegen::EvaluateDim& evaluate) {
  DeviceAttention bound;
  const AttentionShape shape = codegen::attention_shape(*step.node, evaluate);
  bound.sizes = sizes_of(shape);
  // The results of a gradient without queries or keys are zeros.
  const std::int64_t lacking = shape.is_gradient ? std::min(shape.t, shape.s) : shape.t;
  if (bound.sizes.matrices == 0 || lacking == 0) return bound;
  place_scratch(*step.node, shape.is_gradient, bound);
  const AttentionForm form = attention_form(shape.is_gradient, shape.d, shape.e);
  for (const LoadedAttentionFunction& one : kernels.of(form)) {
    const std::int64_t units = units_of(one.function.work, shape.is_gradient, bound.sizes);
    if (units > 0) bound.launches.push_back({&one, units});
  }
  return bound;
}

}  // namespace kiln::cuda
