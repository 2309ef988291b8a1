// Matmuls and convolutions know their cost from binding, kernels from their sizes.
#include "backends/codegen/host/bind/bound_cost.h"

#include "backends/codegen/bind/step_cost.h"

namespace kiln::codegen {

StepCost cost_of(const Step& step, const BoundStep& bound, const SlotSizes& sizes,
                 const Program& program) {
  if (const auto* matmul = std::get_if<BoundMatmul>(&bound)) return matmul->cost;
  if (const auto* convolution = std::get_if<BoundConvolution>(&bound)) return convolution->cost;
  if (const auto* attention = std::get_if<BoundAttention>(&bound)) return attention->cost;
  if (const auto* copy = std::get_if<BoundCopy>(&bound)) {
    return {.bytes = 2 * static_cast<double>(copy->bytes), .operations = 0};
  }
  const auto* kernel = std::get_if<BoundKernel>(&bound);
  if (kernel == nullptr) return other_cost(step, sizes);
  if (kernel->range == 0) return {};
  const auto& described = std::get<KernelStep>(step);
  return kernel_cost(program.kernels[described.kernel].kernel, described, kernel->sizes, sizes,
                     kernel->range);
}

}  // namespace kiln::codegen
