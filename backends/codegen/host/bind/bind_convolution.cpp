// Binds a convolution: evaluates its sizes, prepares the call, and packs the filter if it is kept.
#include "backends/codegen/bind/step_cost.h"
#include "backends/codegen/host/bind/bind_step.h"

namespace kiln::codegen {
namespace {

Convolution evaluated(const ConvolutionStep& step, const StepBinding& binding) {
  const ir::Node& node = *step.node;
  const auto& attrs = node.as<ir::ConvAttrs>();
  Convolution c;
  c.role = attrs.role;
  std::vector<std::int64_t> tensors[3];  // by role
  std::size_t next = 0;
  for (std::size_t role = 0; role < 3; ++role) {
    const bool is_result = static_cast<ConvRole>(role) == attrs.role;
    tensors[role] = binding.evaluate(is_result ? node.types[0].dims : node.operands[next++].dims());
  }
  const auto &input = tensors[0], &filter = tensors[1], &output = tensors[2];
  c.batch = input[0];
  c.groups = binding.evaluate(attrs.groups);
  c.channels = input.back() / c.groups;
  c.filters = output.back() / c.groups;
  c.sizes.assign(input.begin() + 1, input.end() - 1);
  c.windows.assign(filter.begin(), filter.end() - 2);
  c.output_sizes.assign(output.begin() + 1, output.end() - 1);
  c.strides = attrs.strides;
  c.dilations = attrs.dilations;
  c.low = binding.evaluate(attrs.low);
  c.bias = static_cast<bool>(step.bias);
  c.relu = step.relu;
  c.relu_bound = static_cast<float>(step.relu_bound);
  return c;
}

}  // namespace

BoundConvolution bind_convolution(const ConvolutionStep& step, const StepBinding& binding) {
  require_float32(step);
  BoundConvolution bound;
  bound.n = binding.evaluate(step.node->types[0].dims.back());
  for (const SlotId slot : {step.lhs, step.rhs, step.result}) {
    if (binding.out.sizes.bytes[slot] == 0) return bound;
  }
  bound.cost = convolution_cost(step, binding.inputs.evaluate);
  const Convolution c = evaluated(step, binding);
  const SlotId filter = c.role == ConvRole::Output ? step.rhs : step.lhs;
  const SlotId source = c.role == ConvRole::Filter ? SlotId() : packing_source(filter, binding);
  bound.convolution = binding.inputs.library->prepare_convolution(c, rhs_use(source, binding));
  bound.scratch.bytes = aligned(static_cast<std::int64_t>(bound.convolution->scratch_bytes()));
  bound.parallel = !binding.group() && bound.convolution->parts() > 1;
  binding.out.retained_bytes += static_cast<std::int64_t>(bound.convolution->retained_bytes());
  const auto packed = static_cast<std::int64_t>(bound.convolution->packed_bytes());
  if (!source || packed == 0) return bound;
  BoundPlan& out = binding.out;
  bound.packing = static_cast<int>(out.packings.size());
  const std::size_t part = out.packing_parts.size();
  out.packing_parts.push_back({.packer = bound.convolution});
  out.packings.push_back(
      {.first_part = part, .last_part = part + 1, .source = source, .bytes = aligned(packed)});
  return bound;
}

}  // namespace kiln::codegen
