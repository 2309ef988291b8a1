// Decides once, for the final graph, which nodes the target's libraries compute.
//
// Before: %2 = dot %0 %1; %3 = tanh %2
// After:  the same, and a decision: %2 is taken as a product, with both operands as views
#pragma once

#include "backends/codegen/claims/claim.h"
#include "core/ir/graph.h"

#include <unordered_map>

namespace kiln::codegen {

/// The graph itself, or the body of a loop or a branch of it: what is fused and planned by itself.
struct Computation {
  std::vector<ir::Value> arguments;  // of a body: its parameters; empty where nothing reads one
  std::vector<ir::Value> results;
  SizeNames names;                // of sizes that guards hold equal here
  std::vector<ir::Guard> guards;  // of a body: checked on entering it
  bool is_body = false;
  std::vector<ClaimDecision> claims;  // of every node that some claim is about
  std::unordered_map<const ir::Node*, std::size_t> claim_of;  // in `claims`
  /// Of each Scan its body, of each Cond its branches: numbers of computations.
  std::unordered_map<const ir::Node*, std::vector<std::size_t>> bodies;

  /// Null when no claim is about the node.
  const ClaimDecision* decision(const ir::Node& node) const;
};

/// The computations of a graph: bodies before those that hold them, the graph itself last.
/// `library` may be null.
std::vector<Computation> decide_claims(const std::vector<ir::Value>& arguments,
                                       const std::vector<ir::Value>& results,
                                       const SizeNames& names, const LibraryClaims* library);

}  // namespace kiln::codegen
