// Each kernel gets a launcher in the same translation unit, which sets the indices of threads.
#include "tests/codegen/grid_emulation.h"

#include "backends/codegen/text/text_prelude.h"
#include "core/types/text.h"
#include "tests/catch.h"
#include "tests/codegen/host_compiler.h"

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
                        CallBlock* call, std::uint32_t blocks, std::uint32_t threads,
                        bool is_descending);

std::string launcher(const Kernel& kernel) {
  std::string arguments;
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) arguments += text("b[", i, "], ");
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) arguments += text("n[", i, "], ");
  return text("extern \"C\" void launch_", kernel.name,
              "(u8* const* b, const s64* n, s64 points, CallBlock* call, u32 blocks, u32 threads, "
              "bool is_descending) {\n  gridDim.x = blocks;\n  blockDim.x = threads;\n"
              "  for (u32 t = 0; t < blocks * threads; ++t) {\n"
              "    const u32 thread = is_descending ? blocks * threads - 1 - t : t;\n"
              "    blockIdx.x = thread / threads;\n    threadIdx.x = thread % threads;\n    ",
              kernel.name, "(", arguments, "points, 0, call);\n  }\n}\n");
}

std::int64_t evaluate(const Kernel& kernel, const KernelCall& call, const ir::Dim& dim) {
  if (dim.is_static()) return dim.value();
  return call.sizes[static_cast<std::size_t>(size_argument(kernel, dim))];
}

KernelOutcome run(Launch launch, const Kernel& kernel, const GridSchedule& schedule,
                  const KernelCall& call, ThreadOrder order) {
  KernelOutcome outcome{call.operands, {}};
  std::vector<std::byte*> operands;
  for (Memory& memory : outcome.operands) operands.push_back(memory.bytes.data());
  const GridLaunch grid = launch_of(kernel, schedule, kSmallDevice, [&](const ir::Dim& dim) {
    return evaluate(kernel, call, dim);
  });
  CallBlock block;
  block.seed = call.seed;
  block.call_counter = call.call_counter;
  launch(operands.data(), call.sizes.data(), grid.points, &block,
         static_cast<std::uint32_t>(grid.blocks), static_cast<std::uint32_t>(schedule.threads),
         order == ThreadOrder::Descending);
  outcome.fault = {block.access, block.index, block.limit};
  return outcome;
}

}  // namespace

bool is_whole(const Kernel& kernel, const KernelCall& call) {
  const std::int64_t extent = kernel.outer == 0 ? 1 : evaluate(kernel, call, kernel.axes[0]);
  return call.begin == 0 && call.end == extent;
}

std::vector<KernelOutcome> run_as_grid(const std::vector<Kernel>& kernels,
                                       const std::vector<KernelCall>& calls, ThreadOrder order) {
  std::vector<GridSchedule> schedules;
  for (const Kernel& kernel : kernels) {
    schedules.push_back(schedule_grid(kernel, kSmallDevice));
    verify(kernel, schedules.back(), kSmallDevice);
  }
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
    REQUIRE(is_whole(kernels[i], calls[i]));
    void* launch = ::dlsym(library.get(), text("launch_", kernels[i].name).c_str());
    REQUIRE(launch != nullptr);
    outcomes.push_back(
        run(reinterpret_cast<Launch>(launch), kernels[i], schedules[i], calls[i], order));
  }
  return outcomes;
}

}  // namespace kiln::test
