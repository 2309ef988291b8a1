// The order of parameters is that of codegen::grid_functions(). The driver copies them during the
// call.
#include "backends/cuda/execute/launch_kernel.h"

#include "backends/codegen/bind/kernel_sizes.h"

#include <algorithm>

namespace kiln::cuda {

BoundKernel bind_kernel(const codegen::Kernel& kernel, const LoadedKernel& loaded,
                        const codegen::GridDescription& device,
                        const codegen::EvaluateDim& evaluate_all) {
  const codegen::EvaluateDim evaluate = codegen::evaluate_for_kernel(kernel, evaluate_all);
  const codegen::GridSchedule& schedule = loaded.schedule;
  BoundKernel bound{&loaded, codegen::evaluate_dims(kernel.sizes, evaluate),
                    codegen::launch_of(kernel, schedule, device, evaluate)};
  if (!schedule.split_k && schedule.form != codegen::GridForm::Owners) {
    bound.grid.blocks = std::min(bound.grid.blocks, loaded.resident_blocks);
  }
  return bound;
}

void launch_kernel(const Stream& stream, const BoundKernel& bound, const LaunchArguments& arguments,
                   LaunchMemory& memory) {
  auto& [values, parameters] = memory;
  const codegen::GridLaunch& grid = bound.grid;
  values.assign(arguments.operands.begin(), arguments.operands.end());
  for (const std::int64_t size : bound.sizes) values.push_back(static_cast<std::uint64_t>(size));
  values.push_back(static_cast<std::uint64_t>(grid.points));
  if (bound.kernel->schedule.split_k) {
    values.push_back(static_cast<std::uint64_t>(grid.part_points));
    values.push_back(arguments.partials);
    values.push_back(arguments.arrivals);
  }
  parameters.clear();
  for (std::uint64_t& value : values) parameters.push_back(&value);
  std::int32_t number = arguments.number;
  api::DeviceAddress call_block = arguments.call_block;
  parameters.push_back(&number);
  parameters.push_back(&call_block);
  stream.submit(
      [&, parameters = parameters.data()] {
        return stream.device().driver().launch_kernel(
            bound.kernel->function, static_cast<unsigned>(grid.blocks), 1, 1,
            static_cast<unsigned>(grid.threads), 1, 1, 0, stream.handle(), parameters, nullptr);
      },
      "launch a kernel");
}

}  // namespace kiln::cuda
