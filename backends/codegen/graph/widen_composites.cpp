// The claims are asked twice about a node: as it is, and in float32.
#include "backends/codegen/graph/widen_composites.h"

#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {

using ir::Value;

namespace {

bool is_claimed_composite(const ir::Node& node) {
  return def(node).expand &&
         std::ranges::any_of(claims(), [&](const Claim& claim) { return claim.op == node.op; });
}

}  // namespace

std::vector<Value> widen_composites(const std::vector<Value>& results,
                                    const LibraryClaims* library) {
  const auto change = [&](const ir::NodeRef& node) -> std::vector<Value> {
    std::vector<Value> narrow = ir::results_of(node);
    if (!is_claimed_composite(*node) || !ir::is_half(narrow[0].dtype())) return narrow;
    if (is_taken(*node, library)) return narrow;
    const ir::NodeRef wide = ir::widened(*node);
    if (!is_taken(*wide, library)) return narrow;
    std::vector<Value> rounded;
    for (const Value& result : narrow) {
      rounded.push_back(cast(wide->result(result.index), result.dtype()));
    }
    return rounded;
  };
  return rewrite_everywhere(results, library, widen_composites, change);
}

}  // namespace kiln::codegen
