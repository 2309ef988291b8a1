// Chooses what is done once per gathered row: the prefetch of a later row, and the bounds check.
//
// A loop over rows that an index chooses (an embedding) stalls on each row, since the hardware
// cannot predict the next address. So each iteration computes the index of the row some iterations
// ahead and prefetches that row. The index belongs to a loop around the loop over the row's
// elements; a check of every vector of the row costs more than the load of it.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>
#include <optional>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether the access gathers rows of a table beyond the L2 cache.
bool gathers_far_row(const ScheduleInput& in, const Access& access) {
  if (!access.dynamic || access.when) return false;
  const Operand& operand = in.kernel.operands[access.operand];
  if (!operand.read || !access.strides[at(in.kernel.vector_axis)].is_one()) return false;
  const ir::Dim &rows = access.dynamic_limit, &row = access.dynamic_stride;
  if (!rows.is_static() || !row.is_static()) return true;
  // Exact below 2^53, and sizes beside a size of 0 may have a product beyond 64 bits.
  const double elements = static_cast<double>(rows.value()) * static_cast<double>(row.value());
  const auto bytes = static_cast<double>(dtype_bytes(operand.dtype));
  return elements * bytes >= static_cast<double>(in.cpu.tuning.l2_bytes);
}

/// The expressions of the loop over `axis` that have to be computed again to compute `expression`
/// for another iteration, in order; none where that could fail or needs a stage's result.
std::optional<std::vector<ExpressionId>> recomputed_ahead(const ScheduleInput& in,
                                                          ExpressionId expression, int axis) {
  const Kernel& kernel = in.kernel;
  ExpressionFlags wanted(kernel.expressions.size(), false);
  wanted[expression] = true;
  std::vector<ExpressionId> list;
  for (ExpressionId i = expression; i; --i) {
    if (!wanted[i] || in.levels.level(i) <= axis) continue;
    const Expression& x = kernel.expressions[i];
    if (x.kind == ExpressionKind::StageResult) return std::nullopt;
    if (x.kind == ExpressionKind::Load) {
      const Access& access = kernel.accesses[x.access];
      if (access.dynamic || access.when) return std::nullopt;
    }
    for (const ExpressionId argument : x.arguments) {
      if (argument) wanted[argument] = true;
    }
    list.push_back(i);
  }
  std::reverse(list.begin(), list.end());
  return list;
}

/// The bytes of a row that are prefetched.
std::int64_t prefetched_bytes(const ScheduleInput& in, const Access& access) {
  const std::int64_t most = in.cpu.tuning.max_gathered_bytes;
  const ir::Dim& extent = in.kernel.axes[at(in.kernel.vector_axis)];
  if (!extent.is_static()) return most / 2;
  const DType dtype = in.kernel.operands[access.operand].dtype;
  return std::min(std::min(extent.value(), most) * static_cast<std::int64_t>(dtype_bytes(dtype)),
                  most);
}

/// For each expression, whether its value differs between lanes, and whether it depends on the
/// result of a stage.
struct Dependences {
  ExpressionFlags on_lanes, on_results;
};

Dependences dependences_of(const Kernel& kernel, const CpuSchedule& schedule) {
  const bool has_lanes = schedule.lanes > 1;
  Dependences of;
  for (const Expression& x : kernel.expressions) {
    bool on_lanes = false, on_result = x.kind == ExpressionKind::StageResult;
    const auto add = [&](ExpressionId other) {
      if (!other) return;
      on_lanes = on_lanes || of.on_lanes[other];
      on_result = on_result || of.on_results[other];
    };
    for (const ExpressionId argument : x.arguments) add(argument);
    if (x.kind == ExpressionKind::AxisIndex) on_lanes = x.number == kernel.vector_axis;
    if (x.kind == ExpressionKind::StageResult) {
      const bool is_running = kernel.stages[x.stage].kind == StageKind::Running;
      on_lanes = is_running || schedule.lanes_are_outer;
    }
    if (x.kind == ExpressionKind::Load) {
      const Access& access = kernel.accesses[x.access];
      add(access.dynamic);
      add(access.when);
      const bool varies =
          kernel.vector_axis >= 0 && access.strides[at(kernel.vector_axis)] != ir::Dim(0);
      on_lanes = on_lanes || varies;
    }
    of.on_lanes.push_back(on_lanes && has_lanes);
    of.on_results.push_back(on_result);
  }
  return of;
}

/// Whether loops check the indices of their rows: those inside of tiles do not.
bool has_row_checks(const ScheduleInput& in, const CpuSchedule& schedule, int level) {
  const int tile_axis = schedule.tiles.axis;
  return tile_axis < 0 ? level <= static_cast<int>(in.kernel.axes.size()) : level <= tile_axis;
}

/// The loop level at which the access's index is checked once per row; -1: at every point.
int checked_level(const ScheduleInput& in, const CpuSchedule& schedule, const Dependences& of,
                  AccessId id) {
  const Kernel& kernel = in.kernel;
  const Access& access = kernel.accesses[id];
  if (!access.dynamic || access.when) return -1;
  const int level = in.levels.level(access.dynamic);
  if (of.on_lanes[access.dynamic] || !has_row_checks(in, schedule, level)) return -1;
  // Outside of the inner loops, rows are checked before the first stage runs.
  if (level <= kernel.outer && of.on_results[access.dynamic]) return -1;
  if (schedule.tiles.axis >= 0 && schedule.tiles.tiled[id]) return -1;
  if (in.levels.varies_along(access) && !access.strides[at(kernel.vector_axis)].is_one()) {
    return -1;
  }
  const auto varies = [](const ir::Dim& stride) { return stride != ir::Dim(0); };
  const auto has_points = [](const ir::Dim& extent) {
    return extent.is_static() && extent.value() > 0;
  };
  const bool is_once = std::any_of(access.strides.begin() + level, access.strides.end(), varies) &&
                       std::all_of(kernel.axes.begin() + level, kernel.axes.end(), has_points);
  return is_once ? level : -1;
}

}  // namespace

std::vector<GatherPrefetch> choose_gather_prefetches(const ScheduleInput& in,
                                                     const CpuSchedule& schedule) {
  std::vector<GatherPrefetch> list;
  if (schedule.lanes == 1 || schedule.tiles.axis >= 0) return list;
  for (const AccessId i : in.kernel.accesses.ids()) {
    const Access& access = in.kernel.accesses[i];
    if (!gathers_far_row(in, access)) continue;
    const int axis = in.levels.level(access.dynamic) - 1;
    if (axis < 0 || axis >= in.kernel.outer || axis >= in.kernel.vector_axis) continue;
    if (auto recomputed = recomputed_ahead(in, access.dynamic, axis)) {
      list.push_back({.access = i,
                      .axis = axis,
                      .bytes = prefetched_bytes(in, access),
                      .recomputed = std::move(*recomputed)});
    }
  }
  return list;
}

IdVector<AccessId, int> choose_checked_rows(const ScheduleInput& in, const CpuSchedule& schedule) {
  const Dependences of = dependences_of(in.kernel, schedule);
  IdVector<AccessId, int> levels(in.kernel.accesses.size(), -1);
  for (const Expression& x : in.kernel.expressions) {
    if (x.kind != ExpressionKind::Load) continue;
    levels[x.access] = checked_level(in, schedule, of, x.access);
  }
  return levels;
}

}  // namespace kiln::cpu
