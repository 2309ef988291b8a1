// Binds an attention: evaluates its sizes and the strides of its bias, and prepares the call.
#include "backends/codegen/bind/step_cost.h"
#include "backends/codegen/host/bind/bind_step.h"
#include "core/ops/op.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The scratch of all runs together is bounded by so many runs, each of several parts.
constexpr std::int64_t kMaxRuns = 32;

void add_bias(const ir::Dims& symbolic, const StepBinding& binding, AttentionShape& shape) {
  const std::vector<std::int64_t> dims = binding.evaluate(symbolic);
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t elements = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = symbolic[i].is_one() ? 0 : elements;
    elements *= dims[i];
  }
  shape.has_bias = true;
  shape.bias_s = strides.back();
  shape.bias_t = strides[strides.size() - 2];
  shape.bias_batch.assign(strides.begin(), strides.end() - 2);
}

AttentionShape evaluated(const ir::Node& node, const StepBinding& binding) {
  const auto& attrs = node.as<ir::AttentionAttrs>();
  const std::vector<std::int64_t> q = binding.evaluate(node.operands[0].dims());
  const std::vector<std::int64_t> v = binding.evaluate(node.operands[2].dims());
  AttentionShape shape;
  shape.is_gradient = node.op == ir::Op::AttentionGradient;
  shape.batch.assign(q.begin(), q.end() - 2);
  shape.t = q[q.size() - 2];
  shape.d = q.back();
  shape.s = v[v.size() - 2];
  shape.e = v.back();
  shape.divides = attrs.divides;
  shape.causal = attrs.causal;
  const std::size_t others = shape.is_gradient ? 7 : 4;  // operands but the bias
  if (node.operands.size() > others) add_bias(node.operands[4].dims(), binding, shape);
  return shape;
}

}  // namespace

BoundAttention bind_attention(const AttentionStep& step, const StepBinding& binding) {
  BoundAttention bound;
  const AttentionShape shape = evaluated(*step.node, binding);
  const bool has_results = shape.is_gradient ? shape.t + shape.s != 0 : shape.t != 0;
  if (shape.matrices() == 0 || !has_results) return bound;
  bound.cost = attention_cost(step, binding.out.sizes, binding.inputs.evaluate);
  bound.attention = binding.inputs.library->prepare_attention(shape);
  const std::int64_t parts = bound.attention->parts();
  const bool is_large =
      bound.cost.operations / 2 > static_cast<double>(binding.inputs.host.matmul_grain);
  bound.runs = !binding.group() && is_large ? std::min(parts, kMaxRuns) : 1;
  bound.shared_bytes = aligned(bound.attention->shared_bytes());
  bound.scratch.bytes = aligned(bound.attention->scratch_bytes());
  return bound;
}

}  // namespace kiln::codegen
