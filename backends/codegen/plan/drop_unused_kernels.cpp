// Renumbers kernels in the order of the steps of all plans.
#include "backends/codegen/plan/drop_unused_kernels.h"

namespace kiln::codegen {

std::vector<int> drop_unused_kernels(std::span<Plan* const> plans,
                                     std::vector<BuiltKernel>& kernels) {
  std::vector<int> numbers(kernels.size(), -1);
  std::vector<BuiltKernel> kept;
  for (Plan* plan : plans) {
    for (Step& step : plan->steps) {
      auto* run = std::get_if<KernelStep>(&step);
      if (!run) continue;
      const std::size_t old = static_cast<std::size_t>(run->kernel);
      numbers[old] = run->kernel = static_cast<int>(kept.size());
      kept.push_back(std::move(kernels[old]));
    }
  }
  kernels = std::move(kept);
  return numbers;
}

}  // namespace kiln::codegen
