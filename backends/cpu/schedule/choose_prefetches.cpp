// Chooses prefetches of the next row. A kernel with several loops over each row stalls on memory in
// the first of them, and memory is idle while the others compute. So each operand is prefetched by
// one of the loops, at the same position of its next row: the one with the most operations per
// prefetch, so that requests are spread over time. Masked ends of rows are prefetched, too: a
// masked store does not forward to a load before its line is in the cache. Loops down columns fetch
// some rows ahead: hardware prefetchers do not follow strides of rows across pages.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>
#include <optional>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether several loops run over each row, one after the other.
bool rereads_rows(const ScheduleInput& in) {
  if (in.kernel.outer == 0) return false;
  return std::count_if(in.groups.begin(), in.groups.end(), [&](const StageGroup& group) {
           return in.kernel.stages[group.first].inner;
         }) > 1;
}

/// The approximate number of vector operations at each point of the loop.
int operations_of(const ScheduleInput& in, StageGroup group) {
  int count = group.last.number - group.first.number;
  for (const ExpressionId i : in.levels.needed_by(group)) {
    const Expression& x = in.kernel.expressions[i];
    if (x.kind != ExpressionKind::Apply) continue;
    if (in.levels.level(i) <= in.kernel.outer) continue;
    count += ir::def(x.op).expensive ? static_cast<int>(in.cpu.tuning.expensive_operations) : 1;
  }
  return count;
}

std::vector<AccessId> accesses_of(const ScheduleInput& in, StageGroup group) {
  std::vector<AccessId> list;
  for (const ExpressionId i : in.levels.needed_by(group)) {
    const Expression& x = in.kernel.expressions[i];
    if (x.kind == ExpressionKind::Load) list.push_back(x.access);
  }
  for (const StageId s : group) {
    for (const Store& one : in.kernel.stages[s].stores) list.push_back(one.access);
  }
  return list;
}

/// The group's first access to contiguous elements of the operand, if there is one.
AccessId access_to_prefetch(const ScheduleInput& in, StageGroup group, OperandId operand) {
  for (const AccessId id : accesses_of(in, group)) {
    const Access& access = in.kernel.accesses[id];
    if (access.operand != operand || access.dynamic) continue;
    if (access.strides[at(in.kernel.vector_axis)].is_one()) return id;
  }
  return {};
}

std::int64_t element_bytes(const ScheduleInput& in, const Access& access) {
  return static_cast<std::int64_t>(dtype_bytes(in.kernel.operands[access.operand].dtype));
}

/// PrefetchSite::bytes_ahead; none where rows share lines.
std::optional<std::int64_t> bytes_ahead(const ScheduleInput& in, AccessId id) {
  const CpuTuning& tuning = in.cpu.tuning;
  const Access& access = in.kernel.accesses[id];
  const ir::Dim& stride = access.strides[at(in.kernel.outer - 1)];
  if (!stride.is_static()) return 0;
  const std::int64_t bytes =
      std::min<std::int64_t>(stride.value(), tuning.max_bytes_ahead) * element_bytes(in, access);
  if (bytes < tuning.min_bytes_ahead) return std::nullopt;
  return std::min<std::int64_t>(bytes, tuning.max_bytes_ahead);
}

/// Whether the elements may exceed the nearest caches: an unknown number of them counts as many.
bool may_be_large(const ScheduleInput& in, const Access& access) {
  std::int64_t bytes = element_bytes(in, access);
  for (std::size_t axis = 0; axis < in.kernel.axes.size(); ++axis) {
    const ir::Dim& extent = in.kernel.axes[axis];
    if (access.strides[axis] == ir::Dim(0)) continue;
    if (!extent.is_static()) return true;
    if (extent.value() >= in.cpu.tuning.min_column_bytes / bytes) return true;
    bytes *= std::max<std::int64_t>(extent.value(), 1);
  }
  return false;
}

/// The bytes from an element to the one that a loop down columns reads some rows later; none where
/// it needs no prefetch.
std::optional<std::int64_t> bytes_down(const ScheduleInput& in, const Access& access) {
  const ir::Dim& stride = access.strides.back();
  if (access.dynamic || !access.strides[at(in.kernel.vector_axis)].is_one()) return std::nullopt;
  if (!stride.is_static() || !may_be_large(in, access)) return std::nullopt;
  const ir::Dim& rows = in.kernel.axes.back();
  if (rows.is_static() && rows.value() < in.cpu.tuning.min_column_rows) return std::nullopt;
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;  // of any memory
  const std::int64_t bytes = std::min(stride.value(), kMaxStride) * element_bytes(in, access);
  if (bytes < in.cpu.tuning.min_bytes_ahead) return std::nullopt;
  return bytes * in.cpu.tuning.column_rows_ahead;
}

/// For lanes that are columns: every loop down the columns fetches what it reads or writes.
IdVector<OperandId, PrefetchSite> prefetches_down_columns(const ScheduleInput& in,
                                                          const CpuSchedule& schedule) {
  IdVector<OperandId, PrefetchSite> sites(in.kernel.operands.size());
  for (const StageGroup& group : in.groups) {
    if (!in.kernel.stages[group.first].inner) continue;
    for (const AccessId id : accesses_of(in, group)) {
      const Access& access = in.kernel.accesses[id];
      const bool is_streamed = schedule.streams.any() && schedule.streams.operands[access.operand];
      const std::optional<std::int64_t> bytes = bytes_down(in, access);
      if (is_streamed || !bytes || sites[access.operand].access) continue;
      sites[access.operand] = {.access = id, .bytes_ahead = *bytes};
    }
  }
  return sites;
}

}  // namespace

IdVector<OperandId, PrefetchSite> choose_prefetches(const ScheduleInput& in,
                                                    const CpuSchedule& schedule) {
  const std::vector<StageGroup>& groups = in.groups;
  IdVector<OperandId, PrefetchSite> sites(in.kernel.operands.size());
  if (schedule.lanes == 1) return sites;
  if (schedule.lanes_are_outer) return prefetches_down_columns(in, schedule);
  if (!rereads_rows(in)) return sites;
  std::vector<int> planned(groups.size());  // operands that each loop prefetches
  std::vector<int> operations;
  for (const StageGroup& group : groups) operations.push_back(operations_of(in, group));
  // Whether loop i has more operations per prefetch than `best` if each prefetches one more.
  const auto is_better = [&](std::size_t i, std::size_t best) {
    return operations[i] * (planned[best] + 1) > operations[best] * (planned[i] + 1);
  };
  for (const OperandId operand : sites.ids()) {
    if (schedule.streams.any() && schedule.streams.operands[operand]) continue;
    std::size_t best = groups.size();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (!in.kernel.stages[groups[i].first].inner) continue;
      if (best < groups.size() && !is_better(i, best)) continue;
      const AccessId access = access_to_prefetch(in, groups[i], operand);
      if (!access) continue;
      sites[operand] = {.group = groups[i].first, .access = access};
      best = i;
    }
    if (best < groups.size()) ++planned[best];
  }
  for (PrefetchSite& site : sites) {
    if (!site.access) continue;
    const std::optional<std::int64_t> bytes = bytes_ahead(in, site.access);
    site = bytes ? PrefetchSite{site.group, site.access, *bytes} : PrefetchSite{};
  }
  return sites;
}

}  // namespace kiln::cpu
