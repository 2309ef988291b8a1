// Tests machine code of the kernels of attention by the machine's NVRTC: vector loads of shared
// memory, registers and spills.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/cuda_code/kernel_resources.h"

#include "backends/codegen/grid/grid_schedule.h"
#include "backends/cuda/attention/attention_text.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::cuda;

namespace {

void check_resources(const AttentionFunction& function, int architecture,
                     const kiln::testing::KernelResources& resources) {
  const codegen::GridDescription device;
  INFO(function.name << ": " << resources.registers << " registers, stack of "
                     << resources.stack_bytes << ", shared " << resources.shared_bytes);
  CHECK(resources.registers * function.threads <= device.registers);
  CHECK(resources.stack_bytes <= (architecture < 100 ? 64 : 128));
  CHECK(resources.shared_bytes <= device.shared_bytes);
}

}  // namespace

TEST_CASE("NVRTC compiles attention with few spilled registers", "[slow]") {
  const auto compiler = kiln::test::machines_compiler();
  if (compiler == nullptr) return;
  const std::vector<int>& known = compiler->architectures();
  for (const int architecture : {80, 90, 100}) {
    if (std::find(known.begin(), known.end(), architecture) == known.end()) continue;
    for (const bool is_gradient : {false, true}) {
      for (std::int64_t width = kWidthStep; width <= kMaxWidth; width += kWidthStep) {
        const AttentionForm form = attention_form(is_gradient, width, width);
        INFO("sm_" << architecture << ", width " << width);
        const auto compiled = compiler->compile(attention_text(form), architecture, "attention.cu");
        const auto resources = kiln::testing::read_kernel_resources(compiled.cubin);
        for (const AttentionFunction& function : attention_functions(form)) {
          check_resources(function, architecture, resources.at(function.name));
        }
        CHECK(compiled.ptx.find("ld.shared.v4.f32") != std::string::npos);
      }
    }
  }
}
