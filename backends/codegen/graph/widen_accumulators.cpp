// Every op with a combiner accumulates: reductions, running reductions and matmuls.
#include "backends/codegen/graph/widen_accumulators.h"

#include "core/ops/build.h"
#include "core/ops/op.h"

namespace kiln::codegen {
namespace {

using ir::Value;

Value in_float32(const Value& x) { return is_float(x.dtype()) ? cast(x, DType::Float32) : x; }

}  // namespace

std::vector<Value> widen_accumulators(const std::vector<Value>& results,
                                      const LibraryClaims* library) {
  const auto change = [&](const ir::NodeRef& node) -> std::vector<Value> {
    if (def(*node).combiner == ir::Combiner::None) return ir::results_of(node);
    const DType dtype = node->operands.back().dtype();
    if (dtype != DType::Float16 && dtype != DType::BFloat16) return ir::results_of(node);
    if (is_taken(*node, library)) return ir::results_of(node);
    std::vector<Value> operands;
    for (const Value& operand : node->operands) operands.push_back(in_float32(operand));
    const Value wide = ir::make(node->op, node->attrs, operands);
    return {cast(wide, node->types[0].dtype)};
  };
  return rewrite_everywhere(results, library, widen_accumulators, change);
}

}  // namespace kiln::codegen
