// Graph passes, and a rewrite of single nodes as a pass.
#pragma once

#include "backends/codegen/claims/claim.h"
#include "core/ops/rewrite_graph.h"

#include <vector>

namespace kiln::codegen {

/// From the results of a graph to results of equal values; rewrites bodies of loops and branches,
/// too. `library` may be null.
using GraphPass = std::vector<ir::Value> (*)(const std::vector<ir::Value>& results,
                                             const LibraryClaims* library);

/// Replaces the results of each node, operands first, by change(node). Applies `pass` to the node's
/// bodies before.
template <class Change>
std::vector<ir::Value> rewrite_everywhere(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library, GraphPass pass,
                                          const Change& change) {
  const auto of_body = [&](const std::vector<ir::Value>& body) { return pass(body, library); };
  return ir::rewrite_nodes(results, [&](const ir::NodeRef& node) -> std::vector<ir::Value> {
    return change(ir::change_lambdas(node, of_body));
  });
}

}  // namespace kiln::codegen
