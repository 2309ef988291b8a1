// A host call itself can fail, so buffer_aliasing.h lets no earlier step write over a variable.
#include "backends/codegen/plan/agree_before_updates.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/ops/build.h"
#include "core/ops/make.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

const ir::Node* waits_for_collective(const Step& step) {
  const auto* call = std::get_if<HostCallStep>(&step);
  if (call == nullptr) return nullptr;
  return call->node->as<ir::HostCallAttrs>().function == "collective_wait" ? call->node : nullptr;
}

}  // namespace

bool agree_before_updates(Program& program) {
  Plan& plan = program.plan;
  std::size_t end = 0;  // of the steps that can fail
  const ir::Node* last_wait = nullptr;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!can_fail(plan.steps[i], program.kernels)) continue;
    end = i + 1;
    if (const ir::Node* wait = waits_for_collective(plan.steps[i])) last_wait = wait;
  }
  if (last_wait == nullptr) return false;
  const ir::OriginScope origin(last_wait->origin, /*replace=*/true);
  const ir::Value call =
      ir::make(ir::Op::HostCall,
               ir::HostCallAttrs{.function = "collective_agree", .payload = {}, .results = {}},
               {ir::scalar_constant_int(DType::Int64, 0)});
  program.nodes.push_back(call);
  plan.steps.insert(plan.steps.begin() + static_cast<std::ptrdiff_t>(end),
                    HostCallStep{call.node.get(), {}, {}});
  if (plan.region_begin >= end && plan.region_end > plan.region_begin) {
    ++plan.region_begin;
    ++plan.region_end;
  }
  return true;
}

}  // namespace kiln::codegen
