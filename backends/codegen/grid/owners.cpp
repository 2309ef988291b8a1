// Fusion puts at most one scatter into a kernel, so one store suffices here.
#include "backends/codegen/grid/owners.h"

#include "backends/codegen/grid/additions.h"
#include "backends/codegen/kernel/needed.h"
#include "core/types/at.h"

#include <algorithm>
#include <bit>

namespace kiln::codegen {
namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kBlocksOfMultiprocessor = 4;

const Access& access_of(const Kernel& kernel) {
  return kernel.accesses[kernel.stages.front().stores[0].access];
}

/// Whether an expression in the backward slice of `roots` varies over outer points.
bool depends_on_outer(const Kernel& kernel, const std::vector<ExpressionId>& roots) {
  const ExpressionFlags wanted = needed(kernel, roots);
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel.expressions[i];
    if (!wanted[i]) continue;
    if (e.kind == ExpressionKind::AxisIndex && e.number < kernel.outer) return true;
    if (e.kind != ExpressionKind::Load) continue;
    const std::vector<ir::Dim>& strides = kernel.accesses[e.access].strides;
    const auto is_nonzero = [](const ir::Dim& stride) { return stride != ir::Dim(0); };
    if (std::any_of(strides.begin(), strides.begin() + kernel.outer, is_nonzero)) return true;
  }
  return false;
}

bool moves_along_inner(const Kernel& kernel, const Access& access) {
  for (std::size_t axis = at(kernel.outer); axis < kernel.axes.size(); ++axis) {
    if (access.strides[axis] != ir::Dim(0) && !kernel.axes[axis].is_one()) return true;
  }
  return false;
}

}  // namespace

bool adds_at_index(const Kernel& kernel) {
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.stores.begin(), stage.stores.end(), [&](const Store& store) {
      return store.accumulate && kernel.accesses[store.access].dynamic;
    });
  });
}

std::string owners_reason(const Kernel& kernel) {
  if (!adds_at_index(kernel)) return "no additions at an index";
  const bool is_alone = kernel.stages.size() == 1 && kernel.stages.front().stores.size() == 1 &&
                        kernel.stages.front().kind == StageKind::Map && kernel.stages.front().inner;
  if (!is_alone) return "several stages or stores";
  const Access& access = access_of(kernel);
  if (depends_on_outer(kernel, {access.dynamic, access.when})) {
    return "an index that differs between outer points";
  }
  if (access.when && loads_at_index(kernel)) return "a guard hides values that can fail";
  if (moves_along_inner(kernel, access)) return "inner points add to different elements";
  if (access.dynamic_stride == ir::Dim(0)) return "all values of the index add to one element";
  const bool is_disjoint = static_cast<int>(parallel_axes(kernel).size()) == kernel.outer;
  return is_disjoint && is_only_access(kernel, kernel.stages.front().stores[0].access)
             ? ""
             : "several outer points add to one element";
}

bool loads_at_index(const Kernel& kernel) {
  const ExpressionFlags wanted = needed(kernel, roots_of(kernel, kernel.stages.front()));
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel.expressions[i];
    if (!wanted[i] || e.kind != ExpressionKind::Load) continue;
    if (kernel.accesses[e.access].dynamic) return true;
  }
  return false;
}

int owner_lanes(std::int64_t points, int max_threads) {
  if (points < 0) return std::min(kWarp, max_threads);
  if (points <= kWarp) {
    const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(points, 1)));
    return std::min(static_cast<int>(lanes), max_threads);
  }
  // The largest number that leaves at most a fifth of the threads idle.
  int lanes = max_threads;
  const auto is_wasteful = [&] { return (points - 1) / lanes * lanes + lanes > points * 5 / 4; };
  while (lanes > kWarp && is_wasteful()) lanes /= 2;
  return lanes;
}

OwnerUnits owner_units(int lanes, std::int64_t points, std::int64_t blocks, std::int64_t limit) {
  OwnerUnits units;
  units.tiles = (points - 1) / lanes + 1;
  units.ranges = std::max<std::int64_t>(blocks / units.tiles, 1);
  units.share = (limit - 1) / units.ranges + 1;
  return units;
}

std::int64_t owner_blocks(int lanes, std::int64_t points, std::int64_t limit,
                          std::int64_t multiprocessors, std::int64_t resident) {
  const std::int64_t tiles = (points - 1) / lanes + 1;
  const std::int64_t wanted = multiprocessors * std::min(resident, kBlocksOfMultiprocessor);
  const std::int64_t ranges =
      std::clamp<std::int64_t>(wanted / tiles, 1, std::max<std::int64_t>(limit, 1));
  return std::min(tiles * ranges, multiprocessors * resident);
}

const ir::Dim& owner_limit(const Kernel& kernel) { return access_of(kernel).dynamic_limit; }

int owner_chunk(int threads) { return kOwnerPoints * threads; }

int owner_word_points(int threads) { return std::min(threads, kWarp); }

std::int64_t owner_shared_bytes(int threads) {
  const std::int64_t points = owner_chunk(threads), words = points / owner_word_points(threads);
  constexpr std::int64_t kValueBytes = 8, kWordBytes = 4;
  return 2 * (points * kValueBytes + words * kWordBytes);
}

}  // namespace kiln::codegen
