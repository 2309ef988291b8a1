// The expansion of a composite is part of its OpDef.
#include "backends/codegen/graph/expand_composites.h"

#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"
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

std::vector<ClaimDecision> rejected_composites(const std::vector<ir::Value>& results,
                                               const SizeNames& names,
                                               const LibraryClaims* library) {
  std::vector<ClaimDecision> rejected;
  for (const ir::Node* node : ir::topological_order(results)) {
    ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
      for (ClaimDecision& one : rejected_composites(lambda.results, names, library)) {
        rejected.push_back(std::move(one));
      }
    });
    if (!def(*node).expand) continue;
    ClaimDecision decision = decide(*node, names, library);
    if (!decision.rejections.empty() && !decision.taken_by) rejected.push_back(std::move(decision));
  }
  return rejected;
}

}  // namespace kiln::codegen
