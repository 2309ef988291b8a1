// From a loop that one kernel runs (fuse_loops.h) to the kernel's schedule.
#pragma once

#include "backends/codegen/grid/row_loop.h"
#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

struct ScheduledLoop {
  RowLoop loop;
  std::vector<SlotId> slots;  // of the body: those of the tensors of `loop`
  std::string reason = {};    // for a launch per step and iteration; empty: `loop` is a kernel
};

/// Schedules a loop whose LoopFusion has no reason. `schedules`: of all kernels, by
/// schedule_grid(). The kernels keep lanes and accumulators, so that sums keep their order. A loop
/// has a reason if its steps need the whole grid: blocks divide the sums of one, or find the owners
/// of its sums; also if a row does not fit shared memory beside what the kernels need.
ScheduledLoop schedule_row_loop(const LoopStep& loop, const BuiltKernels& kernels,
                                const IdVector<KernelId, GridSchedule>& schedules,
                                const GridDescription& device, std::string name);

/// The loops of the plan and its bodies whose LoopFusion has no reason.
std::vector<const LoopStep*> fused_loops(const Plan& plan);

}  // namespace kiln::codegen
