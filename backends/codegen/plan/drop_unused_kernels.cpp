// Renumbers kernels in the order of the steps of all plans.
#include "backends/codegen/plan/drop_unused_kernels.h"

namespace kiln::codegen {

IdVector<KernelId, KernelId> drop_unused_kernels(std::span<Plan* const> plans,
                                                 BuiltKernels& kernels) {
  IdVector<KernelId, KernelId> ids(kernels.size());
  BuiltKernels kept;
  for (Plan* plan : plans) {
    for (Step& step : plan->steps) {
      auto* run = std::get_if<KernelStep>(&step);
      if (!run) continue;
      const KernelId old = run->kernel;
      ids[old] = run->kernel = kept.add(std::move(kernels[old]));
    }
  }
  kernels = std::move(kept);
  return ids;
}

}  // namespace kiln::codegen
