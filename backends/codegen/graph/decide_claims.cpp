// Walks each computation once; the recursion is as deep as lambdas are nested.
#include "backends/codegen/graph/decide_claims.h"

#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

class Decider {
 public:
  explicit Decider(const LibraryClaims* library) : library_(library) {}

  std::size_t add(Computation computation) {
    for (const Node* node : ir::topological_order(computation.results)) {
      decide_one(computation, *node);
      ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
        computation.bodies[node].push_back(add_body(computation, lambda));
      });
    }
    computations.push_back(std::move(computation));
    return computations.size() - 1;
  }

  std::vector<Computation> computations;

 private:
  void decide_one(Computation& computation, const Node& node) const {
    const std::span<const Claim> list = claims();
    const bool is_asked = std::any_of(list.begin(), list.end(),
                                      [&](const Claim& claim) { return claim.op == node.op; });
    if (!is_asked) return;
    computation.claim_of.emplace(&node, computation.claims.size());
    computation.claims.push_back(decide(node, computation.names, library_));
  }

  std::size_t add_body(const Computation& outer, const ir::Lambda& lambda) {
    Computation body;
    body.arguments.resize(lambda.parameters.size());
    for (const Node* node : ir::topological_order(lambda.results)) {
      if (node->op != ir::Op::Parameter) continue;
      const auto index = static_cast<std::size_t>(node->as<ir::ParameterAttrs>().index);
      body.arguments[index] = node->result();
    }
    body.results = lambda.results;
    // Guards are checked on entry, so inside the body sizes that they equate share one name.
    body.names = outer.names.with(lambda.guards);
    body.guards = lambda.guards;
    body.is_body = true;
    return add(std::move(body));
  }

  const LibraryClaims* library_;
};

}  // namespace

const ClaimDecision* Computation::decision(const Node& node) const {
  const auto found = claim_of.find(&node);
  return found == claim_of.end() ? nullptr : &claims[found->second];
}

std::vector<Computation> decide_claims(const std::vector<Value>& arguments,
                                       const std::vector<Value>& results, const SizeNames& names,
                                       const LibraryClaims* library) {
  Computation whole;
  whole.arguments = arguments;
  whole.results = results;
  whole.names = names;
  Decider decider(library);
  decider.add(std::move(whole));
  return std::move(decider.computations);
}

}  // namespace kiln::codegen
