// Forms follow from the kernel's inner axes and from additions to memory.
#include "backends/codegen/grid/grid_schedule.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr int kThreads = 256;  // eight warps: enough to hide latency, few enough for all registers

bool adds_to_memory(const Kernel& kernel) {
  const auto adds = [](const Store& store) { return store.accumulate; };
  return std::any_of(kernel.stages.begin(), kernel.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.stores.begin(), stage.stores.end(), adds);
  });
}

int parallel_axes(const Kernel& kernel) {
  if (!column_sums(kernel).empty()) return 0;
  return adds_to_memory(kernel) ? std::min(kernel.outer, 1) : kernel.outer;
}

}  // namespace

GridSchedule schedule_grid(const Kernel& kernel, const GridDescription& device) {
  GridSchedule schedule;
  schedule.threads = std::min(kThreads, device.max_threads);
  schedule.parallel_axes = parallel_axes(kernel);
  const bool is_points = schedule.parallel_axes == static_cast<int>(kernel.axes.size());
  schedule.form = is_points ? GridForm::Points : GridForm::Serial;
  return schedule;
}

GridLaunch launch_of(const Kernel& kernel, const GridSchedule& schedule,
                     const GridDescription& device,
                     const std::function<std::int64_t(const ir::Dim&)>& evaluate) {
  GridLaunch launch;
  launch.points = 1;
  for (int axis = 0; axis < kernel.outer; ++axis) {
    const std::int64_t extent = evaluate(kernel.axes[static_cast<std::size_t>(axis)]);
    if (extent == 0) return {};
    if (axis < schedule.parallel_axes) launch.points *= extent;
  }
  // As many blocks as the device holds at a time: each thread then takes several points.
  const std::int64_t blocks = (launch.points - 1) / schedule.threads + 1;
  const std::int64_t resident =
      device.multiprocessors * std::max(1, device.resident_threads / schedule.threads);
  launch.blocks = std::min({blocks, resident, device.max_blocks});
  return launch;
}

std::string print(const GridSchedule& schedule) {
  const char* form = schedule.form == GridForm::Points ? "points" : "serial";
  return text(form, ": blocks of ", schedule.threads, " threads over ", schedule.parallel_axes,
              schedule.parallel_axes == 1 ? " axis" : " axes");
}

}  // namespace kiln::codegen
