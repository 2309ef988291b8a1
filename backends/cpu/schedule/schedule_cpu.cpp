// Takes the decisions in order: each reads the ones before it.
#include "backends/cpu/schedule/decisions.h"
#include "backends/cpu/schedule/kernel_work.h"

namespace kiln::cpu {

CpuSchedule schedule_cpu(const codegen::Kernel& kernel, const CpuDescription& cpu) {
  const KernelLevels levels(kernel);
  CpuSchedule schedule;
  schedule.groups = levels.groups();
  const ScheduleInput in{.kernel = kernel, .cpu = cpu, .levels = levels, .groups = schedule.groups};
  const bool has_lanes = kernel.vector_axis >= 0 && !in_order(kernel);
  schedule.register_lanes = register_lanes(kernel, cpu);
  schedule.lanes = has_lanes ? schedule.register_lanes * choose_vectors(in) : 1;
  schedule.lanes_are_outer = kernel.vector_axis >= 0 && kernel.vector_axis < kernel.outer;
  if (has_lanes) schedule.row_blocks = choose_row_blocks(in);
  if (schedule.row_blocks.any()) {
    schedule.lanes = schedule.register_lanes;
  } else {
    schedule.tiles = choose_tiles(in, schedule.lanes);
    schedule.streams = choose_streams(in, schedule.lanes, schedule.tiles);
    widen_tiles(in, schedule);
  }
  schedule.prefetches = choose_prefetches(in, schedule);
  schedule.is_compact = has_few_points(kernel) && schedule.lanes > schedule.register_lanes &&
                        schedule.tiles.axis < 0 && !schedule.streams.any();
  if (schedule.row_blocks.any()) {
    // A lane's index is of its own row.
    schedule.checked_rows = IdVector<AccessId, int>(kernel.accesses.size(), -1);
  } else {
    schedule.gather_prefetches = choose_gather_prefetches(in, schedule);
    schedule.checked_rows = choose_checked_rows(in, schedule);
  }
  schedule.sum_parts = choose_sum_parts(in, schedule.lanes);
  choose_forms(in, schedule);
  return schedule;
}

}  // namespace kiln::cpu
