// Visits the plan and its bodies.
#include "backends/cuda/execute/device_cost.h"

#include "backends/codegen/bind/step_cost.h"

namespace kiln::cuda {
namespace {

using namespace codegen;

StepCost cost_of(const Step& step, const DeviceStep& bound, const SlotSizes& sizes,
                 const Program& program) {
  if (const auto* matmul = std::get_if<DeviceMatmul>(&bound)) return matmul->cost;
  if (const auto* convolution = std::get_if<DeviceConvolution>(&bound)) return convolution->cost;
  if (const auto* attention = std::get_if<DeviceAttention>(&bound)) return attention->cost;
  if (const auto* attention = std::get_if<DeviceHalfAttention>(&bound)) return attention->cost;
  const auto* launch = std::get_if<KernelLaunch>(&bound);
  if (launch == nullptr) return other_cost(step, sizes);
  if (launch->grid.points == 0) return {};
  const auto& described = std::get<KernelStep>(step);
  return kernel_cost(program.kernels[described.kernel].kernel, described, launch->sizes, sizes);
}

}  // namespace

void add_costs(codegen::StepTimes& times, const DevicePlan& plan, const codegen::Program& program) {
  if (plan.failure) return;
  const auto found = times.plans.find(plan.plan);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (const auto* loop = std::get_if<DeviceLoop>(&plan.steps[s])) {
      add_costs(times, *loop->body.plan, program);
    }
    if (const auto* branch = std::get_if<DeviceBranch>(&plan.steps[s])) {
      for (const DeviceBody& body : branch->bodies) add_costs(times, *body.plan, program);
    }
    if (found == times.plans.end() || s >= found->second.size()) continue;
    StepTime& time = found->second[s];
    const StepCost cost = cost_of(plan.plan->steps[s], plan.steps[s], plan.sizes, program);
    time.cost.add(cost, static_cast<double>(time.calls));
  }
}

}  // namespace kiln::cuda
