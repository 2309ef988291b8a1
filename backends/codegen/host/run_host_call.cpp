// Operand 0 is the position of the call, which orders calls and is no input.
#include "backends/codegen/host/run_host_call.h"

#include "backends/codegen/bind/step_failure.h"

namespace kiln::codegen {

void run_host_call(const HostCallStep& step, const ExecutionList& list, const RunContext& context) {
  const auto& attrs = step.node->as<ir::HostCallAttrs>();
  const auto view = [&](SlotId id) {
    const Slot& slot = list.plan->plan->slots[id];
    return sdk::view(static_cast<std::uint32_t>(slot.dtype), list.plan->sizes.dims(id),
                     list.slot(id));
  };
  std::vector<kiln_view> inputs, outputs;
  for (std::size_t i = 1; i < step.operands.size(); ++i) inputs.push_back(view(step.operands[i]));
  for (const SlotId result : step.results) outputs.push_back(view(result));
  const auto* payload = reinterpret_cast<const std::byte*>(attrs.payload.data());
  try {
    context.host->host_call(context.host_call_context, attrs.function,
                            {payload, attrs.payload.size()}, inputs, outputs);
  } catch (const sdk::Failure& failure) {
    throw step_failure(*context.module, *step.node, failure.code(), failure.what());
  }
}

}  // namespace kiln::codegen
