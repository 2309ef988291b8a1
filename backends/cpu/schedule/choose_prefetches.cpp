// Chooses prefetches of the next row. A kernel with several loops over each row stalls on memory in
// the first of them, and memory is idle while the others compute. So each operand is prefetched by
// one of the loops, at the same position of its next row: the one with the most operations per
// prefetch, so that requests are spread over time. Masked ends of rows are prefetched, too: a
// masked store does not forward to a load before its line is in the cache.
#include "backends/cpu/schedule/decisions.h"
#include "core/types/at.h"

#include <algorithm>
#include <optional>

namespace kiln::cpu {
namespace {

using namespace codegen;

/// Whether several loops run over each row, one after the other.
bool rereads_rows(const ScheduleInput& in, bool lanes_are_outer) {
  if (in.kernel.outer == 0 || lanes_are_outer) return false;
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

/// PrefetchSite::bytes_ahead; none where rows share lines.
std::optional<std::int64_t> bytes_ahead(const ScheduleInput& in, AccessId id) {
  const CpuTuning& tuning = in.cpu.tuning;
  const Access& access = in.kernel.accesses[id];
  const ir::Dim& stride = access.strides[at(in.kernel.outer - 1)];
  if (!stride.is_static()) return 0;
  const DType dtype = in.kernel.operands[access.operand].dtype;
  const std::int64_t bytes = std::min<std::int64_t>(stride.value(), tuning.max_bytes_ahead) *
                             static_cast<std::int64_t>(dtype_bytes(dtype));
  if (bytes < tuning.min_bytes_ahead) return std::nullopt;
  return std::min<std::int64_t>(bytes, tuning.max_bytes_ahead);
}

}  // namespace

IdVector<OperandId, PrefetchSite> choose_prefetches(const ScheduleInput& in,
                                                    const CpuSchedule& schedule) {
  const std::vector<StageGroup>& groups = in.groups;
  IdVector<OperandId, PrefetchSite> sites(in.kernel.operands.size());
  if (schedule.lanes == 1 || !rereads_rows(in, schedule.lanes_are_outer)) return sites;
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
