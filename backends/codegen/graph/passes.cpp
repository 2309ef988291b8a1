// Two passes: each a change of single nodes.
#include "backends/codegen/graph/passes.h"

#include "backends/codegen/claims/claim.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"

namespace kiln::codegen {
namespace {

using ir::NodeRef;
using ir::Value;

/// Changes every node, in bodies too.
template <class Change>
std::vector<Value> everywhere(const std::vector<Value>& results, const Change& change,
                              const LibraryClaims* library, GraphPass pass) {
  const auto of_body = [&](const std::vector<Value>& body) { return pass(body, library); };
  return ir::rewrite_nodes(results, [&](const NodeRef& node) -> std::vector<Value> {
    return change(ir::change_lambdas(node, of_body));
  });
}

bool is_taken(const ir::Node& node, const LibraryClaims* library) {
  const SizeNames names;
  for (const Claim& claim : claims()) {
    if (claim.op == node.op && !claim.rejection(node, names, library)) return true;
  }
  return false;
}

Value in_float32(const Value& x) { return is_float(x.dtype()) ? cast(x, DType::Float32) : x; }

}  // namespace

std::vector<Value> expand_composites(const std::vector<Value>& results,
                                     const LibraryClaims* library) {
  const auto change = [&](const NodeRef& node) -> std::vector<Value> {
    const ir::OpDef& d = def(*node);
    const bool expands = d.expand && !is_taken(*node, library);
    return expands ? d.expand(*node, node->operands) : ir::results_of(node);
  };
  return everywhere(results, change, library, expand_composites);
}

std::vector<Value> widen_accumulators(const std::vector<Value>& results,
                                      const LibraryClaims* library) {
  const auto change = [&](const NodeRef& node) -> std::vector<Value> {
    if (def(*node).combiner == ir::Combiner::None) return ir::results_of(node);
    const DType dtype = node->operands.back().dtype();
    if (dtype != DType::Float16 && dtype != DType::BFloat16) return ir::results_of(node);
    if (is_taken(*node, library)) return ir::results_of(node);
    std::vector<Value> operands;
    for (const Value& operand : node->operands) operands.push_back(in_float32(operand));
    const Value wide = ir::make(node->op, node->attrs, operands);
    return {cast(wide, node->types[0].dtype)};
  };
  return everywhere(results, change, library, widen_accumulators);
}

}  // namespace kiln::codegen
