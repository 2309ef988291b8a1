// The order of parameters is that of codegen::grid_functions(). The driver copies them during the
// call.
#include "backends/cuda/execute/launch_kernel.h"

#include "backends/codegen/bind/kernel_sizes.h"
#include "backends/codegen/grid/batch.h"

#include <algorithm>
#include <bit>

namespace kiln::cuda {
namespace {

/// The limits of the device with the resident threads that the kernel's registers and shared memory
/// leave.
codegen::GridDescription limits_of(const LoadedKernel& loaded,
                                   const codegen::GridDescription& device) {
  codegen::GridDescription limits = device;
  const std::int64_t blocks = loaded.resident_blocks / device.multiprocessors;
  const std::int64_t threads = std::max<std::int64_t>(blocks, 1) * loaded.schedule.threads;
  limits.resident_threads =
      static_cast<int>(std::min<std::int64_t>(threads, device.resident_threads));
  return limits;
}

codegen::GridLaunch launch_of(const codegen::Kernel& kernel, const LoadedKernel& loaded,
                              const codegen::GridDescription& device,
                              const codegen::EvaluateDim& evaluate) {
  const codegen::GridSchedule& schedule = loaded.schedule;
  const codegen::GridLaunch resident =
      codegen::launch_of(kernel, schedule, limits_of(loaded, device), evaluate);
  if (!schedule.split_k || resident.parts > 1) return resident;
  // Parts for more blocks run in several rounds, but leave no multiprocessor idle.
  const codegen::GridLaunch rounds = codegen::launch_of(kernel, schedule, device, evaluate);
  return rounds.parts > 1 ? rounds : resident;
}

std::uint64_t word_of(const codegen::BatchBlocks& blocks) {
  return std::bit_cast<std::uint64_t>(blocks);
}

/// Appends operands, sizes and points.
void add_row(const BoundKernel& bound, const LaunchArguments& arguments,
             std::vector<std::uint64_t>& values) {
  values.insert(values.end(), arguments.operands.begin(), arguments.operands.end());
  for (const std::int64_t size : bound.sizes) values.push_back(static_cast<std::uint64_t>(size));
  values.push_back(static_cast<std::uint64_t>(bound.grid.points));
}

}  // namespace

void submit(const Stream& stream, api::FunctionHandle function, const LaunchGrid& grid,
            const LaunchNumbers& numbers, std::vector<void*>& parameters) {
  std::int32_t step = numbers.step;
  api::DeviceAddress call_block = numbers.call_block;
  parameters.push_back(&step);
  parameters.push_back(&call_block);
  stream.submit(
      [&] {
        return stream.device().driver().launch_kernel(
            function, static_cast<unsigned>(grid.blocks), 1, 1, static_cast<unsigned>(grid.threads),
            1, 1, 0, stream.handle(), parameters.data(), nullptr);
      },
      "launch a kernel");
}

BoundKernel bind_kernel(const codegen::Kernel& kernel, const LoadedKernel& loaded,
                        const codegen::GridDescription& device,
                        const codegen::EvaluateDim& evaluate_all) {
  const codegen::EvaluateDim evaluate = codegen::evaluate_for_kernel(kernel, evaluate_all);
  const std::vector<ir::Dim>& sizes = loaded.has_variable_extent ? kernel.axes : kernel.sizes;
  return {&loaded, codegen::evaluate_dims(sizes, evaluate),
          launch_of(kernel, loaded, device, evaluate)};
}

void launch_kernel(const Stream& stream, const BoundKernel& bound, const LaunchArguments& arguments,
                   LaunchMemory& memory) {
  if (bound.kernel->schedule.batch > 1) {
    const BatchedLaunch one{bound, arguments};
    return launch_batch(stream, {&one, 1}, memory);
  }
  auto& [values, parameters] = memory;
  values.clear();
  add_row(bound, arguments, values);
  const codegen::GridLaunch& grid = bound.grid;
  if (bound.kernel->schedule.split_k) {
    values.push_back(static_cast<std::uint64_t>(grid.part_points));
    values.push_back(arguments.partials);
    values.push_back(arguments.arrivals);
  }
  parameters.clear();
  for (std::uint64_t& value : values) parameters.push_back(&value);
  submit(stream, bound.kernel->function, {grid.blocks, grid.threads},
         {arguments.number, arguments.call_block}, parameters);
}

void launch_batch(const Stream& stream, std::span<const BatchedLaunch> batch,
                  LaunchMemory& memory) {
  auto& [values, parameters] = memory;
  values.clear();
  const LoadedKernel& kernel = *batch.front().bound.kernel;
  std::int32_t blocks = 0;
  for (const BatchedLaunch& launch : batch) {
    add_row(launch.bound, launch.arguments, values);
    const auto count = static_cast<std::int32_t>(launch.bound.grid.blocks);
    values.push_back(word_of({.first = blocks, .count = count}));
    blocks += count;
  }
  // The driver copies the whole table.
  const std::size_t words = values.size() / batch.size();
  for (auto row = static_cast<int>(batch.size()); row < kernel.schedule.batch; ++row) {
    values.resize(values.size() + words - 1);
    values.push_back(word_of({}));
  }
  parameters.assign({values.data()});
  const LaunchArguments& first = batch.front().arguments;
  submit(stream, kernel.function, {blocks, kernel.schedule.threads},
         {first.number, first.call_block}, parameters);
}

}  // namespace kiln::cuda
