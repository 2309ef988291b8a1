// Every op with a combiner accumulates: reductions, running reductions and matmuls.
#include "backends/codegen/graph/widen_accumulators.h"

#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"

namespace kiln::codegen {

using ir::Value;

std::vector<Value> widen_accumulators(const std::vector<Value>& results,
                                      const LibraryClaims* library) {
  const auto change = [&](const ir::NodeRef& node) -> std::vector<Value> {
    if (def(*node).combiner == ir::Combiner::None) return ir::results_of(node);
    if (!ir::is_half(node->operands.back().dtype())) return ir::results_of(node);
    if (is_taken(*node, library)) return ir::results_of(node);
    return {cast(ir::widened(*node)->result(), node->types[0].dtype)};
  };
  return rewrite_everywhere(results, library, widen_accumulators, change);
}

}  // namespace kiln::codegen
