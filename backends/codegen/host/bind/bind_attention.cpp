// Binds an attention: prepares the call for its sizes.
#include "backends/codegen/bind/step_cost.h"
#include "backends/codegen/host/bind/bind_step.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The scratch of all runs together is bounded by so many runs, each of several parts.
constexpr std::int64_t kMaxRuns = 32;

}  // namespace

BoundAttention bind_attention(const AttentionStep& step, const StepBinding& binding) {
  BoundAttention bound;
  const AttentionShape shape = attention_shape(*step.node, binding.inputs.evaluate);
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
