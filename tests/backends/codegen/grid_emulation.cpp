// Launches have the grid that the described device would get.
#include "tests/backends/codegen/grid_emulation.h"

#include "backends/codegen/grid/batch.h"
#include "tests/support/catch.h"
#include "tests/backends/codegen/emulated_kernels.h"
#include "tests/backends/codegen/parse_kernel.h"

#include <algorithm>

namespace kiln::test {
namespace {

using namespace codegen;

std::int64_t evaluate(const Kernel& kernel, const KernelCall& call, const ir::Dim& dim) {
  if (dim.is_static()) return dim.value();
  return call.sizes[static_cast<std::size_t>(size_argument(kernel, dim))];
}

/// The operands and the first index out of range of a launch. Checks that bytes around operands do
/// not change.
class LaunchMemory {
 public:
  LaunchMemory(const Kernel& kernel, const KernelCall& call, const GridStep& step)
      : block(step.before), call_(call) {
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const std::int64_t shift = step.shifts[i % step.shifts.size()];
      add(call.operands[i].bytes,
          static_cast<std::size_t>(shift) *
              dtype_bytes(kernel.operands[OperandId(static_cast<int>(i))].dtype));
    }
    block.seed = call.seed;
    block.call_counter = call.call_counter;
  }

  KernelOutcome take() {
    KernelOutcome outcome;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t bytes = call_.operands[i].bytes.size();
      std::byte* const begin = operands[i];
      outcome.operands.push_back({{begin, begin + bytes}});
      std::fill_n(begin, bytes, kAround);
      const auto is_kept = [](std::byte byte) { return byte == kAround; };
      CHECK(std::all_of(memory_[i].begin(), memory_[i].end(), is_kept));
    }
    outcome.out_of_range = {block.access, block.index, block.limit};
    return outcome;
  }

  std::vector<std::byte*> operands;
  CallBlock block;

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::byte kAround{0xa5};

  void add(const std::vector<std::byte>& bytes, std::size_t shift) {
    std::vector<std::byte>& memory =
        memory_.emplace_back(bytes.size() + shift + 2 * kAlignment, kAround);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t begin = kAlignment - address % kAlignment + shift;
    operands.push_back(memory.data() + begin);
    std::copy(bytes.begin(), bytes.end(), operands.back());
  }

  const KernelCall& call_;
  std::vector<std::vector<std::byte>> memory_;
};

GridLaunch launch_for(const Kernel& kernel, const GridSchedule& schedule,
                      const GridDescription& device, const KernelCall& call) {
  REQUIRE(is_whole(kernel, call));
  return launch_of(kernel, schedule, device,
                   [&](const ir::Dim& dim) { return evaluate(kernel, call, dim); });
}

KernelOutcome run(const EmulatedKernels& emulated, const ScheduledKernel& scheduled,
                  const GridDescription& description, const KernelCall& call, ThreadOrder order,
                  const GridStep& step) {
  const Kernel& kernel = scheduled.kernel;
  LaunchMemory memory(kernel, call, step);
  const auto is_in_bounds = [&](const std::byte* address, std::size_t bytes) {
    for (std::size_t i = 0; i < memory.operands.size(); ++i) {
      const std::byte* const begin = memory.operands[i];
      const std::byte* const end = begin + call.operands[i].bytes.size();
      if (address >= begin && address + bytes <= end) return true;
    }
    return false;
  };
  const GridLaunch grid = launch_for(kernel, scheduled.schedule, description, call);
  PartialMemory parts(grid);
  emulated.run(kernel.name, {.operands = memory.operands.data(),
                             .sizes = call.sizes.data(),
                             .grid = grid,
                             .partials = parts.partials.data(),
                             .arrivals = parts.arrivals.data(),
                             .step = step.step,
                             .call = &memory.block,
                             .order = order,
                             .is_in_bounds = is_in_bounds});
  CHECK(parts.is_left_as_found());
  return memory.take();
}

GridSchedule schedule_for(const Kernel& kernel, const GridDescription& device) {
  const GridSchedule schedule = schedule_grid(kernel, device);
  verify(kernel, schedule, device);
  return schedule;
}

}  // namespace

bool is_whole(const Kernel& kernel, const KernelCall& call) {
  const std::int64_t extent = kernel.outer == 0 ? 1 : evaluate(kernel, call, kernel.axes[0]);
  return call.begin == 0 && call.end == extent;
}

std::vector<KernelOutcome> run_as_grid(const std::vector<Kernel>& kernels,
                                       const std::vector<KernelCall>& calls, ThreadOrder order,
                                       const GridStep& step, const GridDescription& device) {
  std::vector<GridSchedule> schedules;
  for (const Kernel& kernel : kernels) {
    schedules.push_back(schedule_for(kernel, device));
    schedules.back().batch = rows_of_table(kernel, schedules.back(), step.rows);
  }
  std::vector<ScheduledKernel> scheduled;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    scheduled.push_back({kernels[i], schedules[i]});
  }
  const EmulatedKernels emulated(scheduled);
  std::vector<KernelOutcome> outcomes;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    outcomes.push_back(run(emulated, scheduled[i], device, calls[i], order, step));
  }
  return outcomes;
}

KernelOutcome run_as_parsed_grid(const Kernel& kernel, const KernelCall& call, ThreadOrder order,
                                 const GridStep& step, const GridDescription& device) {
  const GridSchedule schedule = schedule_for(kernel, device);
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  const std::vector<ParsedKernel> parsed = parse_grid_text(grid_functions(scheduled));
  REQUIRE(parsed.size() == 1);
  CHECK(print(parsed[0].kernel) == print(kernel));
  CHECK(print(parsed[0].schedule) == print(schedule));
  LaunchMemory memory(kernel, call, step);
  const GridLaunch grid = launch_for(kernel, schedule, device, call);
  PartialMemory parts(grid);
  GridKernel(parsed[0].kernel, parsed[0].schedule)
      .run({.buffers = memory.operands.data(),
            .sizes = call.sizes.data(),
            .points = grid.points,
            .blocks = grid.blocks,
            .part_points = grid.part_points,
            .partials = parts.partials.data(),
            .arrivals = parts.arrivals.data(),
            .step = step.step,
            .call = &memory.block,
            .order = order});
  CHECK(parts.is_left_as_found());
  return memory.take();
}

}  // namespace kiln::test
