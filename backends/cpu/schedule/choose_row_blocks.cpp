// Chooses row blocks for maps whose vector axis is shorter than a register: pixels of three
// channels, pairs, boxes. A vector along such an axis alone would be masked and mostly empty.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether the points of the axes from `first` on have neighbouring elements, in order.
bool is_dense(const Kernel& kernel, const Access& access, int first) {
  ir::Dim stride = 1;
  for (int axis = kernel.outer - 1; axis > first; --axis) {
    if (access.strides[at(axis)] != stride) return false;
    stride = stride * kernel.axes[at(axis)];
  }
  return access.strides[at(first)] == stride;
}

/// Whether all stages store rows of the axes after `first` without gaps.
bool stores_dense_rows(const Kernel& kernel, int first) {
  return std::all_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return stage.kind == StageKind::Map &&
           std::all_of(stage.stores.begin(), stage.stores.end(), [&](const Store& store) {
             const Access& access = kernel.accesses[store.access];
             return !store.accumulate && !access.dynamic && is_dense(kernel, access, first);
           });
  });
}

/// Blocks of rows along the last `axes`, of `length` points each; none if they do not pay.
RowBlocks blocks_of(const ScheduleInput& in, int axes, std::int64_t length) {
  const Kernel& kernel = in.kernel;
  const int lanes = register_lanes(kernel, in.cpu), row_length = static_cast<int>(length);
  const int common = std::gcd(lanes, row_length), row_axis = kernel.outer - 1 - axes;
  const RowBlocks blocks{.axes = axes, .rows = lanes / common, .vectors = row_length / common};
  if (blocks.vectors > in.cpu.tuning.max_block_vectors) return {};
  const ir::Dim& rows = kernel.axes[at(row_axis)];
  if (rows.is_static() && rows.value() < blocks.rows) return {};
  const auto expressions = static_cast<std::int64_t>(kernel.expressions.size());
  if (expressions * blocks.vectors > in.cpu.tuning.max_block_expressions) return {};
  return stores_dense_rows(kernel, row_axis) ? blocks : RowBlocks{};
}

}  // namespace

RowBlocks choose_row_blocks(const ScheduleInput& in) {
  const Kernel& kernel = in.kernel;
  if (kernel.outer != static_cast<int>(kernel.axes.size())) return {};
  if (kernel.vector_axis != kernel.outer - 1) return {};
  const auto is_guarded = [](const Access& access) { return access.when; };
  if (std::any_of(kernel.accesses.begin(), kernel.accesses.end(), is_guarded)) return {};
  const int lanes = register_lanes(kernel, in.cpu);
  std::int64_t length = 1;
  for (int axes = 1; axes < kernel.outer; ++axes) {
    const ir::Dim& extent = kernel.axes[at(kernel.outer - axes)];
    if (!extent.is_static() || extent.value() < 1 || extent.value() >= lanes) return {};
    length *= extent.value();
    if (length >= lanes) return {};
    const RowBlocks blocks = length > 1 ? blocks_of(in, axes, length) : RowBlocks{};
    if (blocks.any()) return blocks;
  }
  return {};
}

}  // namespace kiln::cpu
