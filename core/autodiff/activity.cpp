// Activity analysis by fixed point: "varied" is propagated forward through the carries, "useful"
// backward, until neither grows.
#include "core/autodiff/activity.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <unordered_map>

namespace kiln::autodiff {
namespace {

using ir::Node;
using ir::Value;

/// [r][p]: whether body result r depends differentiably on parameter p.
std::vector<std::vector<bool>> dependency_matrix(const ir::Lambda& body) {
  const std::size_t parameters = body.parameters.size();
  std::unordered_map<const Node*, std::vector<bool>> reached;
  for (const Node* node : ir::topological_order(body.results)) {
    std::vector<bool>& depends = reached[node];
    depends.assign(parameters, false);
    if (node->op == ir::Op::Parameter) {
      depends[static_cast<std::size_t>(node->as<ir::ParameterAttrs>().index)] = true;
      continue;
    }
    if (!def(*node).differentiable) continue;
    for (const Value& operand : node->operands) {
      if (!is_float(operand.dtype())) continue;
      const std::vector<bool>& operands = reached.at(operand.node.get());
      for (std::size_t p = 0; p < parameters; ++p) depends[p] = depends[p] || operands[p];
    }
  }
  std::vector<std::vector<bool>> reads;
  for (const Value& result : body.results) reads.push_back(reached.at(result.node.get()));
  return reads;
}

}  // namespace

Activity find_activity(const ir::ScanAttrs& attrs, const std::vector<bool>& wanted,
                       const std::vector<bool>& given) {
  const auto reads = dependency_matrix(*attrs.body);
  const auto carries = static_cast<std::size_t>(attrs.carry);
  const auto first_carry = static_cast<std::size_t>(attrs.consts);
  std::vector<bool> varied = wanted;  // per operand; parameter of operand i is i + 1
  std::vector<bool> useful = given;   // per result
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < reads.size(); ++r) {
      for (std::size_t p = 1; p < reads[r].size(); ++p) {
        if (!reads[r][p]) continue;
        const bool carry_parameter = p - 1 >= first_carry && p - 1 < first_carry + carries;
        if (r < carries && varied[p - 1] && !varied[first_carry + r]) {
          varied[first_carry + r] = changed = true;
        }
        if (carry_parameter && useful[r] && !useful[p - 1 - first_carry]) {
          useful[p - 1 - first_carry] = changed = true;
        }
      }
    }
  }
  Activity activity;
  for (std::size_t c = 0; c < carries; ++c) {
    const bool active =
        varied[first_carry + c] && useful[c] && is_float(attrs.body->results[c].dtype());
    activity.carries.push_back(active);
  }
  return activity;
}

}  // namespace kiln::autodiff
