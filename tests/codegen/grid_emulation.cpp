// Each kernel gets a function for one thread in the same translation unit. The threads of a block
// are fibres, and blocks run one after the other.
#include "tests/codegen/grid_emulation.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"
#include "tests/catch.h"
#include "tests/codegen/block_fibres.h"
#include "tests/codegen/host_compiler.h"
#include "tests/codegen/parse_kernel.h"

#include <dlfcn.h>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr const char* kDevice = R"(
#define __global__
#define __launch_bounds__(threads)
#define __shared__
struct Index {
  u32 x;
};
extern "C" {
Index blockIdx, threadIdx, gridDim, blockDim;
void (*wait_for_block)();
void (*wait_for_warp)();
u64 (*exchange)(u64 value, int distance);
}
inline void __syncthreads() { wait_for_block(); }
inline void __syncwarp() { wait_for_warp(); }
inline u32 __shfl_xor_sync(u32, u32 x, int distance) { return u32(exchange(x, distance)); }
inline u64 __shfl_xor_sync(u32, u64 x, int distance) { return exchange(x, distance); }
inline u32 atomicCAS(u32* at, u32 expected, u32 value) {
  const u32 old = *at;
  if (old == expected) *at = value;
  return old;
}
inline u32 atomicExch(u32* at, u32 value) {
  const u32 old = *at;
  *at = value;
  return old;
}
inline u32 atomicAdd(u32* at, u32 value) {
  const u32 old = *at;
  *at = old + value;
  return old;
}
inline void __threadfence() {}
)";

/// Fills a block's shared memory with NaNs.
using Poison = void (*)();
/// Runs the thread that the indices name.
using RunThread = void (*)(std::byte* const* operands, const std::int64_t* sizes,
                           std::int64_t points, std::int64_t part_points, std::byte* partials,
                           std::uint32_t* arrivals, std::int32_t step, CallBlock* call);

std::string launcher(const Kernel& kernel, const GridSchedule& schedule) {
  std::string arguments, poison;
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) arguments += text("b[", i, "], ");
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) arguments += text("n[", i, "], ");
  for (std::size_t s = 0; s < kernel.stages.size(); ++s) {
    if (kernel.stages[s].kind == StageKind::Map || shared_elements(schedule) == 0) continue;
    const std::string memory = text(kernel.name, "_shared", s);
    poison += text("  __builtin_memset(", memory, ", 255, sizeof(", memory, "));\n");
  }
  const char* parts = schedule.split ? "part_points, partials, arrivals, " : "";
  return text("extern \"C\" void poison_", kernel.name, "() {\n", poison, "}\n",
              "extern \"C\" void run_", kernel.name,
              "(u8* const* b, const s64* n, s64 points, s64 part_points, u8* partials, "
              "u32* arrivals, s32 step, CallBlock* call) {\n  ",
              kernel.name, "(", arguments, "points, ", parts, "step, call);\n}\n");
}

std::int64_t evaluate(const Kernel& kernel, const KernelCall& call, const ir::Dim& dim) {
  if (dim.is_static()) return dim.value();
  return call.sizes[static_cast<std::size_t>(size_argument(kernel, dim))];
}

/// The operands and the record of a launch.
struct LaunchMemory {
  LaunchMemory(const KernelCall& call, const GridStep& step)
      : outcome{call.operands, {}}, block(step.before) {
    for (Memory& memory : outcome.operands) operands.push_back(memory.bytes.data());
    block.seed = call.seed;
    block.call_counter = call.call_counter;
  }
  KernelOutcome take() {
    outcome.fault = {block.access, block.index, block.limit};
    return std::move(outcome);
  }

  KernelOutcome outcome;
  std::vector<std::byte*> operands;
  CallBlock block;
};

GridLaunch launch_for(const Kernel& kernel, const GridSchedule& schedule,
                      const GridDescription& device, const KernelCall& call) {
  REQUIRE(is_whole(kernel, call));
  return launch_of(kernel, schedule, device,
                   [&](const ir::Dim& dim) { return evaluate(kernel, call, dim); });
}

/// The names that kDevice and launcher() give a library of kernels.
class EmulatedDevice {
 public:
  explicit EmulatedDevice(std::shared_ptr<void> library) : library_(std::move(library)) {
    symbol<void (*)()>("wait_for_block") = BlockFibres::wait_for_block;
    symbol<void (*)()>("wait_for_warp") = BlockFibres::wait_for_warp;
    symbol<std::uint64_t (*)(std::uint64_t, int)>("exchange") = BlockFibres::exchange;
  }

  /// A variable of the text.
  template <class T>
  T& symbol(const std::string& name) const {
    return *static_cast<T*>(address(name));
  }
  template <class T>
  T function(const std::string& name) const {
    return reinterpret_cast<T>(address(name));
  }

 private:
  void* address(const std::string& name) const {
    void* found = ::dlsym(library_.get(), name.c_str());
    REQUIRE(found != nullptr);
    return found;
  }

  std::shared_ptr<void> library_;
};

KernelOutcome run(const EmulatedDevice& device, const ScheduledKernel& scheduled,
                  const GridDescription& description, const KernelCall& call, ThreadOrder order,
                  const GridStep& step) {
  LaunchMemory memory(call, step);
  const Kernel& kernel = scheduled.kernel;
  const GridLaunch grid = launch_for(kernel, scheduled.schedule, description, call);
  PartialMemory parts(grid);
  const auto run_thread = device.function<RunThread>("run_" + kernel.name);
  const auto index = [&](const char* name) -> std::uint32_t& {
    return device.symbol<std::uint32_t>(name);
  };
  index("gridDim") = static_cast<std::uint32_t>(grid.blocks);
  index("blockDim") = static_cast<std::uint32_t>(grid.threads);
  std::uint32_t& thread = index("threadIdx");
  BlockFibres fibres(grid.threads);
  for (std::int64_t turn = 0; turn < grid.blocks; ++turn) {
    index("blockIdx") = static_cast<std::uint32_t>(thread_at(order, turn, grid.blocks));
    device.function<Poison>("poison_" + kernel.name)();
    fibres.run(
        order,
        [&] {
          run_thread(memory.operands.data(), call.sizes.data(), grid.points, grid.part_points,
                     parts.partials.data(), parts.arrivals.data(), step.step, &memory.block);
        },
        [&](std::int64_t next) { thread = static_cast<std::uint32_t>(next); });
  }
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
  for (const Kernel& kernel : kernels) schedules.push_back(schedule_for(kernel, device));
  std::vector<ScheduledKernel> scheduled;
  std::string launchers;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    scheduled.push_back({kernels[i], schedules[i]});
    launchers += launcher(kernels[i], schedules[i]);
  }
  const EmulatedDevice emulated(compile_library(
      text(text_prelude(TextDialect::Host), kDevice, grid_functions(scheduled), launchers)));
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
  LaunchMemory memory(call, step);
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
