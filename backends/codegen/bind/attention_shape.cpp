// The bias broadcasts along axes whose size is known to be 1.
#include "backends/codegen/bind/attention_shape.h"

#include "backends/codegen/bind/slot_sizes.h"
#include "core/ops/op.h"

namespace kiln::codegen {
namespace {

void add_bias(const ir::Dims& symbolic, const EvaluateDim& evaluate, AttentionShape& shape) {
  const std::vector<std::int64_t> dims = evaluate_dims(symbolic, evaluate);
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

}  // namespace

AttentionShape attention_shape(const ir::Node& node, const EvaluateDim& evaluate) {
  const auto& attrs = node.as<ir::AttentionAttrs>();
  const std::vector<std::int64_t> q = evaluate_dims(node.operands[0].dims(), evaluate);
  const std::vector<std::int64_t> v = evaluate_dims(node.operands[2].dims(), evaluate);
  AttentionShape shape;
  shape.is_gradient = node.op == ir::Op::AttentionGradient;
  shape.batch.assign(q.begin(), q.end() - 2);
  shape.t = q[q.size() - 2];
  shape.d = q.back();
  shape.s = v[v.size() - 2];
  shape.e = v.back();
  shape.divides = attrs.divides;
  shape.causal = attrs.causal;
  if (has_bias(node)) add_bias(node.operands[4].dims(), evaluate, shape);
  return shape;
}

}  // namespace kiln::codegen
