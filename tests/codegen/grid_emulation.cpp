// Each kernel gets a launcher in the same translation unit, which sets the indices of threads.
#include "tests/codegen/grid_emulation.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"
#include "tests/catch.h"
#include "tests/codegen/host_compiler.h"
#include "tests/codegen/parse_kernel.h"

#include <dlfcn.h>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr const char* kDevice = R"(
#define __global__
#define __launch_bounds__(threads)
struct Index {
  u32 x;
};
static Index blockIdx, threadIdx, gridDim, blockDim;
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
inline void __threadfence() {}
)";

using Launch = void (*)(std::byte* const* operands, const std::int64_t* sizes, std::int64_t points,
                        std::int32_t step, CallBlock* call, std::uint32_t blocks,
                        std::uint32_t threads, bool is_descending);

std::string launcher(const Kernel& kernel) {
  std::string arguments;
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) arguments += text("b[", i, "], ");
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) arguments += text("n[", i, "], ");
  return text("extern \"C\" void launch_", kernel.name,
              "(u8* const* b, const s64* n, s64 points, s32 step, CallBlock* call, u32 blocks, "
              "u32 threads, bool is_descending) {\n  gridDim.x = blocks;\n  blockDim.x = threads;\n"
              "  for (u32 t = 0; t < blocks * threads; ++t) {\n"
              "    const u32 thread = is_descending ? blocks * threads - 1 - t : t;\n"
              "    blockIdx.x = thread / threads;\n    threadIdx.x = thread % threads;\n    ",
              kernel.name, "(", arguments, "points, step, call);\n  }\n}\n");
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

GridLaunch launch_for(const Kernel& kernel, const GridSchedule& schedule, const KernelCall& call) {
  REQUIRE(is_whole(kernel, call));
  return launch_of(kernel, schedule, kSmallDevice,
                   [&](const ir::Dim& dim) { return evaluate(kernel, call, dim); });
}

KernelOutcome run(Launch launch, const ScheduledKernel& scheduled, const KernelCall& call,
                  ThreadOrder order, const GridStep& step) {
  LaunchMemory memory(call, step);
  const GridLaunch grid = launch_for(scheduled.kernel, scheduled.schedule, call);
  launch(memory.operands.data(), call.sizes.data(), grid.points, step.step, &memory.block,
         static_cast<std::uint32_t>(grid.blocks),
         static_cast<std::uint32_t>(scheduled.schedule.threads), order == ThreadOrder::Descending);
  return memory.take();
}

GridSchedule schedule_for(const Kernel& kernel) {
  const GridSchedule schedule = schedule_grid(kernel, kSmallDevice);
  verify(kernel, schedule, kSmallDevice);
  return schedule;
}

}  // namespace

bool is_whole(const Kernel& kernel, const KernelCall& call) {
  const std::int64_t extent = kernel.outer == 0 ? 1 : evaluate(kernel, call, kernel.axes[0]);
  return call.begin == 0 && call.end == extent;
}

std::vector<KernelOutcome> run_as_grid(const std::vector<Kernel>& kernels,
                                       const std::vector<KernelCall>& calls, ThreadOrder order,
                                       const GridStep& step) {
  std::vector<GridSchedule> schedules;
  for (const Kernel& kernel : kernels) schedules.push_back(schedule_for(kernel));
  std::vector<ScheduledKernel> scheduled;
  std::string launchers;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    scheduled.push_back({kernels[i], schedules[i]});
    launchers += launcher(kernels[i]);
  }
  const std::shared_ptr<void> library = compile_library(
      text(text_prelude(TextDialect::Host), kDevice, grid_functions(scheduled), launchers));
  std::vector<KernelOutcome> outcomes;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    void* launch = ::dlsym(library.get(), text("launch_", kernels[i].name).c_str());
    REQUIRE(launch != nullptr);
    outcomes.push_back(
        run(reinterpret_cast<Launch>(launch), scheduled[i], calls[i], order, step));
  }
  return outcomes;
}

KernelOutcome run_as_parsed_grid(const Kernel& kernel, const KernelCall& call, ThreadOrder order,
                                 const GridStep& step) {
  const GridSchedule schedule = schedule_for(kernel);
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  const std::vector<ParsedKernel> parsed = parse_grid_text(grid_functions(scheduled));
  REQUIRE(parsed.size() == 1);
  CHECK(print(parsed[0].kernel) == print(kernel));
  CHECK(print(parsed[0].schedule) == print(schedule));
  LaunchMemory memory(call, step);
  const GridLaunch grid = launch_for(kernel, schedule, call);
  GridKernel(parsed[0].kernel, parsed[0].schedule)
      .run({.buffers = memory.operands.data(),
            .sizes = call.sizes.data(),
            .points = grid.points,
            .blocks = grid.blocks,
            .step = step.step,
            .call = &memory.block,
            .order = order});
  return memory.take();
}

}  // namespace kiln::test
