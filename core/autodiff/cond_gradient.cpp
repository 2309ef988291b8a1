// The gradient of a Cond is a Cond: each branch rematerialises its forward values from the operands
// and applies its vector-Jacobian product. Only the branch that was taken runs, and no residuals of
// the other one are stored.
//
//   Before: %y = cond %p %x then={ results f(%0) } else={ results g(%0) }
//   After:  %dx = cond %p %x %dy then={ results vjp(f)(%0, %1) } else={ results vjp(g)(%0, %1) }
#include "core/autodiff/control_gradient.h"

#include "core/autodiff/vjp.h"
#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

namespace kiln::autodiff {
namespace {

using ir::Grad;
using ir::Lambda;
using ir::Node;
using ir::Type;
using ir::Value;

/// The gradient of a branch. Parameters: those of the branch, then the given cotangents. Results:
/// the cotangent of each wanted operand, zeros if the branch does not depend on it.
std::shared_ptr<const Lambda> branch_gradient(const Lambda& branch, const Grad& g,
                                              const std::vector<std::size_t>& given,
                                              const std::vector<std::size_t>& wanted) {
  std::vector<Type> types = branch.parameters;
  for (std::size_t i : given) types.push_back(g.dy[i].type());
  const ir::LambdaBuilder builder(types);
  const std::span<const Value> all = builder.parameters();
  const auto own = all.first(branch.parameters.size());
  const auto cotangents = all.subspan(branch.parameters.size());

  const std::vector<Value> results = without_host_calls(ir::inline_lambda(branch, own));
  std::vector<Value> y, x;
  for (std::size_t i : given) y.push_back(results[i]);
  for (std::size_t i : wanted) x.push_back(own[i - 1]);
  std::vector<Value> dx = vjp(y, cotangents, x).dx;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!dx[i]) dx[i] = ir::zeros_like(x[i]);
  }
  return builder.close_without_captures(dx, branch.guards);
}

}  // namespace

std::vector<Value> without_host_calls(std::vector<Value> roots) {
  for (;;) {
    ir::Replacements replacements;
    for (const Node* node : ir::topological_order(roots)) {
      if (node->op != ir::Op::HostCall || node->types.size() != 1) continue;
      if (node->operands.size() < 2 || !(node->operands[1].type() == node->types[0])) continue;
      replacements.emplace(node->result(), node->operands[1]);
      break;  // the operand may depend on further calls: the next iteration finds them
    }
    if (replacements.empty()) return roots;
    roots = ir::replace_values(roots, replacements);
  }
}

std::vector<Value> cond_gradient(const Grad& g) {
  const auto& attrs = g.node.as<ir::CondAttrs>();
  std::vector<std::size_t> given, wanted;
  for (std::size_t i = 0; i < g.dy.size(); ++i) {
    if (g.dy[i]) given.push_back(i);
  }
  for (std::size_t i = 1; i < g.x.size(); ++i) {
    if (g.wanted[i]) wanted.push_back(i);
  }
  std::vector<Value> operands(g.x.begin(), g.x.end());
  for (std::size_t i : given) operands.push_back(g.dy[i]);
  const ir::CondAttrs gradient{
      .then_branch = {branch_gradient(*attrs.then_branch, g, given, wanted)},
      .else_branch = {branch_gradient(*attrs.else_branch, g, given, wanted)}};
  const ir::NodeRef node = ir::make_node(ir::Op::Cond, gradient, operands);
  std::vector<Value> dx(g.x.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    dx[wanted[i]] = {node, static_cast<std::uint32_t>(i)};
  }
  return dx;
}

}  // namespace kiln::autodiff
