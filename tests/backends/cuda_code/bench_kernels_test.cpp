// Tests machine code of the benchmark's passes by the machine's NVRTC: vector loads, registers, and
// no spills.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/codegen/parse_kernel.h"
#include "tests/backends/cuda_code/bench_kernels.h"
#include "tests/backends/cuda_code/kernel_resources.h"

#include "backends/codegen/text/grid_text.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::testing;

namespace {

int count(const std::string& text, const std::string& word) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++times;
  return times;
}

}  // namespace

TEST_CASE("NVRTC compiles the benchmark's passes without spilled registers", "[slow]") {
  const auto compiler = kiln::test::machines_compiler();
  if (compiler == nullptr) return;
  const struct {
    const char* text;
    int vector_loads;
    int registers;  // of a thread of sm_90
  } rows[] = {{kSoftmax, 2, 48}, {kLayerNorm, 8, 84}, {kCrossEntropy, 2, 48}, {kBatchNorm, 0, 64}};
  const std::vector<int>& known = compiler->architectures();
  for (const auto& row : rows) {
    const codegen::Kernel kernel = kiln::test::parse_kernel(row.text);
    const codegen::GridSchedule schedule = schedule_grid(kernel, {});
    const codegen::ScheduledKernel scheduled[] = {{kernel, schedule}};
    for (const int architecture : {80, 90, 100}) {
      if (std::find(known.begin(), known.end(), architecture) == known.end()) continue;
      const auto compiled = compiler->compile(grid_text(scheduled), architecture, "kernels.cu");
      const KernelResources found = read_kernel_resources(compiled.cubin).at(kernel.name);
      INFO(kernel.name << " on sm_" << architecture << ": " << print(schedule) << ", "
                       << found.registers << " registers, stack of " << found.stack_bytes);
      CHECK(found.stack_bytes == 0);
      if (architecture == 90) CHECK(found.registers <= row.registers);
      CHECK(count(compiled.ptx, "ld.global.v4.f32") >= row.vector_loads);
    }
  }
}
