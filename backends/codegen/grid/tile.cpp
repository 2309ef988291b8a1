// Kernels with dynamic indices are not tiled: indices out of range are recorded in the order of
// points, which tiles change.
#include "backends/codegen/grid/tile.h"

#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/grid/vector_access.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstdlib>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kMinTileRows = 16;  // below, most threads of a tile are idle

/// Bytes of an element in shared memory, where half precision is held as float.
std::int64_t shared_width(const Kernel& kernel, AccessId access) {
  const Operand& operand = kernel.operands[kernel.accesses[access].operand];
  const bool is_half = is_float(operand.dtype) && width_of(kernel, access) == 2;
  return is_half ? 4 : width_of(kernel, access);
}

bool is_long(const ir::Dim& extent) {
  return !extent.is_static() || extent.value() >= kMinTileRows;
}

bool is_transposed(const Kernel& kernel, const Access& access, int axis) {
  const ir::Dim& stride = access.strides.back();
  const bool is_near = stride.is_static() && std::abs(stride.value()) <= 1;
  return axis + 1 < static_cast<int>(kernel.axes.size()) && access.strides[at(axis)].is_one() &&
         !is_near;
}

/// The bytes per point that the tiled accesses move, without operands that are broadcast along an
/// axis: these stay in caches.
std::int64_t tiled_width(const Kernel& kernel, int tile_axis) {
  std::int64_t width = 0;
  for (const AccessId access : tile_accesses(kernel, tile_axis)) {
    const std::vector<ir::Dim>& strides = kernel.accesses[access].strides;
    bool is_whole = true;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      is_whole = is_whole && (strides[axis] != ir::Dim(0) || kernel.axes[axis].is_one());
    }
    if (is_whole) width += width_of(kernel, access);
  }
  return width;
}

bool loads_for_guard(const Kernel& kernel, const Access& access) {
  const ExpressionFlags wanted = needed(kernel, {access.when});
  for (const ExpressionId i : wanted.ids()) {
    if (wanted[i] && kernel.expressions[i].kind == ExpressionKind::Load) return true;
  }
  return false;
}

bool stores_twice(const Kernel& kernel, OperandId operand) {
  const std::vector<Store>& stores = kernel.stages.front().stores;
  return std::count_if(stores.begin(), stores.end(), [&](const Store& store) {
           return kernel.accesses[store.access].operand == operand;
         }) > 1;
}

}  // namespace

std::vector<AccessId> tile_accesses(const Kernel& kernel, int tile_axis) {
  std::vector<AccessId> list;
  for (const AccessId access : used_accesses(kernel)) {
    if (is_transposed(kernel, kernel.accesses[access], tile_axis)) list.push_back(access);
  }
  std::sort(list.begin(), list.end());
  return list;
}

std::string tile_reason(const Kernel& kernel, int tile_axis) {
  const int axes = static_cast<int>(kernel.axes.size());
  if (kernel.outer != axes || tile_axis < 0 || tile_axis + 1 >= axes) return "no two outer axes";
  if (kernel.stages.size() != 1 || kernel.stages.front().kind != StageKind::Map)
    return "several stages";
  for (const AccessId access : used_accesses(kernel)) {
    if (kernel.accesses[access].dynamic) return "a dynamic index";
  }
  const std::vector<AccessId> transposed = tile_accesses(kernel, tile_axis);
  if (transposed.empty()) return "no transposed access";
  for (const AccessId access : transposed) {
    const Access& one = kernel.accesses[access];
    if (loads_for_guard(kernel, one)) return "a guard that is loaded";
    if (stores_twice(kernel, one.operand)) return "two stores to an operand";
  }
  return "";
}

int choose_tile_axis(const Kernel& kernel, std::int64_t shared_bytes) {
  if (kernel.axes.empty() || !is_long(kernel.axes.back())) return -1;
  int best = -1;
  std::int64_t max_width = 0;
  for (int axis = 0; axis + 1 < static_cast<int>(kernel.axes.size()); ++axis) {
    if (!is_long(kernel.axes[at(axis)]) || !tile_reason(kernel, axis).empty()) continue;
    const std::int64_t width = tiled_width(kernel, axis);
    if (width <= max_width || tile_bytes(kernel, axis) > shared_bytes) continue;
    max_width = width;
    best = axis;
  }
  return best;
}

std::int64_t tile_bytes(const Kernel& kernel, int tile_axis) {
  std::int64_t width = 0;
  for (const AccessId access : tile_accesses(kernel, tile_axis))
    width += shared_width(kernel, access);
  return width * kTileSide * (kTileSide + 1);
}

std::int64_t tile_count(const Kernel& kernel, int tile_axis,
                        const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  const int last = static_cast<int>(kernel.axes.size()) - 1;
  std::int64_t tiles = 1;
  for (int axis = 0; axis <= last; ++axis) {
    const std::int64_t extent = evaluate(kernel.axes[at(axis)]);
    const bool is_side = axis == tile_axis || axis == last;
    tiles = saturated_product(tiles, is_side ? (extent - 1) / kTileSide + 1 : extent);
  }
  return tiles;
}

}  // namespace kiln::codegen
