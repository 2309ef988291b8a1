// Chooses tiles for maps that read a transposed operand, whose elements are contiguous along an
// outer axis instead of the vector axis, so that every cache line is read once and whole.
#include "backends/codegen/kernel/order_axes.h"
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// The rows of a block of elements of `bytes` bytes.
int rows_of_block(const CpuTuning& tuning, int lanes, int bytes) {
  if (lanes * bytes >= tuning.line_bytes) {
    return lanes * static_cast<int>(tuning.whole_line_tiles);
  }
  return static_cast<int>(
      std::min<std::int64_t>(tuning.line_bytes / bytes, tuning.max_partial_rows));
}

/// Whether tiles pay off: some are whole, or masked loads make partial ones fast.
bool fills_tiles(const ScheduleInput& in, int lanes, int tile_axis) {
  if (in.cpu.has_masks) return true;
  const auto fills = [&](int axis) {
    const ir::Dim& extent = in.kernel.axes[at(axis)];
    return !extent.is_static() || extent.value() >= lanes;
  };
  return fills(tile_axis) && fills(in.kernel.vector_axis);
}

/// Whether every operand that tiles would read has short rows along the axis, such as pixels of
/// three channels: vectors along the vector axis are then shuffles of a few loads.
bool has_short_rows(const ScheduleInput& in, int lanes, int axis) {
  const Kernel& kernel = in.kernel;
  const std::int64_t longest = std::min<std::int64_t>(in.cpu.tuning.max_short_row, lanes) / 2;
  return std::all_of(kernel.accesses.begin(), kernel.accesses.end(), [&](const Access& access) {
    const ir::Dim& stride = access.strides[at(kernel.vector_axis)];
    const bool is_short = stride.is_static() && stride.value() <= longest;
    return !is_across(kernel, access, axis) || (is_short && kernel.axes[at(axis)].is_static() &&
                                                kernel.axes[at(axis)].value() <= longest);
  });
}

}  // namespace

TileSchedule choose_tiles(const ScheduleInput& in, int lanes) {
  const Kernel& kernel = in.kernel;
  const int axis = lanes > 1 ? across_axis(kernel) : -1;
  if (axis < 0 || has_short_rows(in, lanes, axis)) return {};
  TileSchedule tiles{.axis = axis, .rows = static_cast<int>(in.cpu.tuning.max_partial_rows)};
  const bool fills = fills_tiles(in, lanes, axis);
  for (const Access& access : kernel.accesses) {
    tiles.tiled.push_back(fills && is_across(kernel, access, axis));
    if (!tiles.tiled.back()) continue;
    const auto bytes = static_cast<int>(dtype_bytes(kernel.operands[access.operand].dtype));
    tiles.rows = std::max(tiles.rows, rows_of_block(in.cpu.tuning, lanes, bytes));
  }
  return tiles;
}

void widen_tiles(const ScheduleInput& in, CpuSchedule& schedule) {
  const int lanes = schedule.lanes;
  const int widest = in.cpu.vector_bytes / schedule.register_lanes;
  if (schedule.tiles.axis < 0 || schedule.streams.any()) return;
  if (lanes * widest >= in.cpu.tuning.line_bytes) return;
  const auto is_whole = [&](int axis) {
    const ir::Dim& extent = in.kernel.axes[at(axis)];
    return extent.is_static() && extent.value() % (2 * lanes) == 0;
  };
  if (!is_whole(schedule.tiles.axis) || !is_whole(in.kernel.vector_axis)) return;
  const TileSchedule tiles = choose_tiles(in, 2 * lanes);
  StreamSchedule streams = choose_streams(in, 2 * lanes, tiles);
  if (!streams.any()) return;
  schedule.lanes = 2 * lanes;
  schedule.tiles = tiles;
  schedule.streams = std::move(streams);
}

}  // namespace kiln::cpu
