// Decides once, for the final graph, which nodes the target's libraries compute, and lists the
// computations of a program: the graph and each body of a loop or a branch.
//
// Before: %2 = dot %0 %1; %3 = tanh %2
// After:  the same graph, and a decision: "matmul" takes %2, with both operands as strided views
#pragma once

#include "backends/codegen/claims/claim.h"
#include "core/ir/graph.h"

#include <unordered_map>

namespace kiln::codegen {

/// The graph itself, or the body of a loop or a branch: the scope of fusion and of a plan.
struct Computation {
  std::vector<ir::Value> arguments;  // of a body: its parameters; empty where nothing reads one
  std::vector<ir::Value> results;
  SizeNames names;                // under the guards that hold here
  std::vector<ir::Guard> guards;  // of a body: checked on entry
  bool is_body = false;
  std::vector<ClaimDecision> claims;  // of every node for whose op there is a claim
  std::unordered_map<const ir::Node*, std::size_t> claim_of;  // index into `claims`
  /// The body of each Scan, the two branches of each Cond: indices of computations.
  std::unordered_map<const ir::Node*, std::vector<std::size_t>> bodies;

  /// Null when there is no claim for the node's op.
  const ClaimDecision* decision(const ir::Node& node) const;
};

/// The computations of a graph: bodies before the computations that contain them, the graph last.
/// `library` may be null.
std::vector<Computation> decide_claims(const std::vector<ir::Value>& arguments,
                                       const std::vector<ir::Value>& results,
                                       const SizeNames& names, const LibraryClaims* library);

}  // namespace kiln::codegen
