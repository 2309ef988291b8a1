// The decisions of a schedule, one function each, in the order in which schedule_cpu takes them.
#pragma once

#include "backends/cpu/schedule/cpu_schedule.h"

namespace kiln::cpu {

/// The input of every decision.
struct ScheduleInput {
  const codegen::Kernel& kernel;
  const CpuDescription& cpu;
  const KernelLevels& levels;
  const std::vector<StageGroup>& groups;
};

/// Whether the vector axis must run in order, without lanes: stores accumulate to elements that may
/// coincide, or several indices store to the same element. REQUIRES: a vector axis.
bool in_order(const codegen::Kernel& kernel);

/// The number of lanes that fill one register.
int register_lanes(const codegen::Kernel& kernel, const CpuDescription& cpu);

/// The number of vectors of a loop iteration. Reductions along lanes have that many accumulators,
/// to hide the latency of additions; reductions across rows read that many neighbours. REQUIRES: a
/// vector axis.
int choose_vectors(const ScheduleInput& in);

/// REQUIRES: a vector axis.
RowBlocks choose_row_blocks(const ScheduleInput& in);

TileSchedule choose_tiles(const ScheduleInput& in, int lanes);

/// Streams the results where the kernel stores many elements that it does not read, or the rows of
/// a scratch operand.
StreamSchedule choose_streams(const ScheduleInput& in, int lanes, const TileSchedule& tiles);

/// Doubles the schedule's lanes where that makes each store of a large result a whole cache line,
/// which can be streamed. REQUIRES: lanes, tiles and streams are set.
void widen_tiles(const ScheduleInput& in, CpuSchedule& schedule);

/// The operand of StreamSchedule::scratch_operand, if there is one.
OperandId scratch_candidate(const ScheduleInput& in, int lanes, const TileSchedule& tiles);

/// Chooses for each operand that rows are read from, among the loops that access it, the loop with
/// the most operations per prefetch, the first of equals; or all loops down columns.
IdVector<OperandId, PrefetchSite> choose_prefetches(const ScheduleInput& in,
                                                    const CpuSchedule& schedule);

std::vector<GatherPrefetch> choose_gather_prefetches(const ScheduleInput& in,
                                                     const CpuSchedule& schedule);

IdVector<AccessId, int> choose_checked_rows(const ScheduleInput& in, const CpuSchedule& schedule);

SumParts choose_sum_parts(const ScheduleInput& in, int lanes);

/// Sets short_forms, share_divisions and minmax_forms.
void choose_forms(const ScheduleInput& in, CpuSchedule& schedule);

}  // namespace kiln::cpu
