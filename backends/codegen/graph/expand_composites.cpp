// The expansion is part of the op's definition.
#include "backends/codegen/graph/expand_composites.h"

#include "core/ops/op.h"

namespace kiln::codegen {

std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const LibraryClaims* library) {
  const auto change = [&](const ir::NodeRef& node) -> std::vector<ir::Value> {
    const ir::OpDef& d = def(*node);
    const bool expands = d.expand && !is_taken(*node, library);
    return expands ? d.expand(*node, node->operands) : ir::results_of(node);
  };
  return rewrite_everywhere(results, library, expand_composites, change);
}

}  // namespace kiln::codegen
