// Requires that the program has one kernel step from the arguments to the result.
#include "backends/cuda/execute/graph_kernel.h"

#include "backends/codegen/grid/shape_kernel.h"
#include "backends/codegen/pipeline.h"
#include "core/module/read.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::cuda {
namespace {

/// The numbers of the step's operands among the arguments, then the result. Throws InternalError
/// unless the program is one kernel of those.
std::vector<std::size_t> operand_order(const codegen::Program& program, const std::string& label) {
  const codegen::Plan& plan = program.plan;
  const auto* step =
      plan.steps.size() == 1 ? std::get_if<codegen::KernelStep>(&plan.steps[0]) : nullptr;
  std::vector<codegen::SlotId> known = plan.arguments;
  known.push_back(plan.results.at(0));
  std::vector<std::size_t> order;
  if (step != nullptr) {
    for (const codegen::SlotId slot : step->slots) {
      const auto found = std::find(known.begin(), known.end(), slot);
      if (found != known.end()) order.push_back(static_cast<std::size_t>(found - known.begin()));
    }
    if (!order.empty() && order.size() == step->slots.size()) return order;
  }
  throw InternalError("bind", "", text(label, " is not one kernel"));
}

}  // namespace

GraphKernel::GraphKernel(const KernelCompiler& compiler, std::vector<ir::Value> arguments,
                         ir::Value result, const std::string& label)
    : grid_(compiler.device->grid()) {
  codegen::Compilation lowering;
  lowering.arguments = std::move(arguments);
  lowering.results = {std::move(result)};
  lowering.target = codegen::target_of(grid_);
  lowering.loop_transform = codegen::shape_for_grid;
  codegen::run_pipeline(lowering);
  order_ = operand_order(lowering.program, label);
  const int capability = compiler.device->identity().compute_capability;
  const CodeTarget target{grid_, code_architecture(*compiler.compiler, capability)};
  library_ = std::make_unique<const KernelLibrary>(
      lowering.program.kernels, compiler.device,
      compile_kernels(lowering.program, target, *compiler.compiler,
                      codegen::Dumps(compiler.host, label), label, compiler.host));
  built_ = std::move(lowering.program.kernels.front());
}

BoundKernel GraphKernel::bind(const codegen::EvaluateDim& evaluate) const {
  return bind_kernel(built_.kernel, library_->kernels().front(), grid_, evaluate);
}

std::vector<api::DeviceAddress> GraphKernel::operands(std::span<const api::DeviceAddress> arguments,
                                                      api::DeviceAddress result) const {
  std::vector<api::DeviceAddress> list;
  for (const std::size_t number : order_) {
    list.push_back(number < arguments.size() ? arguments[number] : result);
  }
  return list;
}

ir::Value kernel_argument(const std::string& name, const ir::Type& type) {
  return ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{module::fresh_id(), name, type}, {});
}

}  // namespace kiln::cuda
