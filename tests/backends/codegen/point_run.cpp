// Runs only the mapping of points to threads: a vector has the values of its elements.
#include "tests/backends/codegen/point_run.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr std::int64_t kSide = 32;  // of a tile

using Visit = std::function<void(std::int64_t number)>;

/// Visits whole groups, then single points.
void visit_groups(const GridSchedule& schedule, const PointGrid& grid, const Visit& visit) {
  const std::int64_t elements = schedule.elements, groups = grid.points / elements;
  const std::int64_t threads = grid.blocks * schedule.threads;
  for (std::int64_t i = 0; i < std::min(threads, grid.points); ++i) {
    const std::int64_t thread = thread_at(grid.order, i, std::min(threads, grid.points));
    for (std::int64_t group = thread; group < groups; group += threads) {
      for (std::int64_t e = 0; e < elements; ++e) visit(group * elements + e);
    }
    for (std::int64_t point = groups * elements + thread; point < grid.points; point += threads) {
      visit(point);
    }
  }
}

/// The indices of a tile's first point.
std::vector<std::int64_t> tile_begin(const GridSchedule& schedule, const PointGrid& grid,
                                     std::int64_t tile) {
  std::vector<std::int64_t> index(grid.extents.size());
  const auto take = [&](std::size_t axis, std::int64_t step) {
    const std::int64_t steps = (grid.extents[axis] + step - 1) / step;
    index[axis] = tile % steps * step;
    tile /= steps;
  };
  take(index.size() - 1, kSide);
  take(at(schedule.tile_axis), kSide);
  for (std::size_t axis = index.size() - 1; axis-- > 0;) {
    if (axis != at(schedule.tile_axis)) take(axis, 1);
  }
  return index;
}

void visit_tile(const GridSchedule& schedule, const PointGrid& grid,
                std::vector<std::int64_t> index, const Visit& visit) {
  const std::size_t row = at(schedule.tile_axis), column = index.size() - 1;
  const std::int64_t first_row = index[row], first_column = index[column];
  for (std::int64_t turn = 0; turn < kSide * kSide; ++turn) {
    const std::int64_t point = thread_at(grid.order, turn, kSide * kSide);
    index[row] = first_row + point / kSide;
    index[column] = first_column + point % kSide;
    if (index[row] >= grid.extents[row] || index[column] >= grid.extents[column]) continue;
    std::int64_t number = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      number = number * grid.extents[axis] + index[axis];
    }
    visit(number);
  }
}

void visit_tiles(const GridSchedule& schedule, const PointGrid& grid, const Visit& visit) {
  std::int64_t tiles = 1;
  for (std::size_t axis = 0; axis < grid.extents.size(); ++axis) {
    const bool is_side = axis == at(schedule.tile_axis) || axis + 1 == grid.extents.size();
    const std::int64_t extent = grid.extents[axis];
    tiles *= is_side ? (extent + kSide - 1) / kSide : extent;
  }
  for (std::int64_t i = 0; i < grid.blocks; ++i) {
    const std::int64_t block = thread_at(grid.order, i, grid.blocks);
    for (std::int64_t tile = block; tile < tiles; tile += grid.blocks) {
      visit_tile(schedule, grid, tile_begin(schedule, grid, tile), visit);
    }
  }
}

}  // namespace

void visit_points(const GridSchedule& schedule, const PointGrid& grid, const Visit& visit) {
  if (schedule.form == GridForm::Tile) return visit_tiles(schedule, grid, visit);
  visit_groups(schedule, grid, visit);
}

}  // namespace kiln::test
