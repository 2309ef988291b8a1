// Imports If: the branch that is taken, if the condition is known, else a Cond of both branches.
#include "core/ir/traverse.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/ops/lambda_builder.h"
#include "core/types/escaped_text.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

using ir::Value;
using Values = std::vector<Value>;

/// The results of a branch, and the nodes that were created for it.
struct ImportedBranch {
  ImportedBranch(NodeContext& node, const GraphProto& graph) {
    const ir::Trace::Scope tracing(trace);
    results = node.run_graph(graph, {});
  }
  ir::Trace trace;
  Values results;
};

/// "the input 'mask', the size n": which inputs and sizes a condition depends on.
std::string dependencies_text(NodeContext& node, const Value& condition) {
  constexpr std::size_t kMaxNames = 8;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  const auto is_size = [&](const Value& value) {
    const auto dims = node.shape_values().dims(value);
    if (!dims) return false;
    for (const ir::Dim& dim : *dims) {
      ir::for_each_symbol(dim,
                          [&](const ir::Symbol& symbol) { add(text("the size ", symbol.name)); });
    }
    return true;
  };
  for (const ir::Node* one : ir::topological_order({&condition, 1}, is_size)) {
    if (one->op != ir::Op::Placeholder) continue;
    add(text("the input '", escaped_text(one->as<ir::PlaceholderAttrs>().name), "'"));
  }
  if (names.size() > kMaxNames) {
    names.resize(kMaxNames);
    names.push_back("others");
  }
  return names.empty() ? "values that the model computes" : join_text(names, ", ");
}

/// y with the type of x, by guards. Throws ValueError if the types differ.
Value branch_fitted(NodeContext& node, const Value& x, const Value& y, std::size_t i) {
  const bool may_be_same = x.dtype() == y.dtype() && equal(x.dims(), y.dims()) != ir::Ternary::No;
  if (may_be_same) return ir::with_dims(y, x.dims());
  node.fail(text("the branches give output ", i, " as ", x.type(), " and ", y.type(),
                 ", and which of them is taken depends on ", dependencies_text(node, node.input(0)),
                 "; the options dims and constants fix sizes and inputs"));
}

Values import_if(NodeContext& node) {
  const GraphProto &then_graph = node.graph("then_branch"), &else_graph = node.graph("else_branch");
  const Value condition = node.input(0);
  const ir::Ternary truth = node.truth(condition);
  if (truth != ir::Ternary::Unknown) {
    return node.run_graph(truth == ir::Ternary::Yes ? then_graph : else_graph, {});
  }
  const ImportedBranch then_branch(node, then_graph);
  ImportedBranch else_branch(node, else_graph);
  if (then_branch.results.size() != else_branch.results.size()) {
    node.fail(text("the branches have ", then_branch.results.size(), " and ",
                   else_branch.results.size(), " outputs"));
  }
  {
    const ir::Trace::Scope tracing(else_branch.trace);
    for (std::size_t i = 0; i < else_branch.results.size(); ++i) {
      Value& y = else_branch.results[i];
      y = branch_fitted(node, then_branch.results[i], y, i);
    }
  }
  const ir::BranchClosures closures = ir::close_branches(then_branch.results, then_branch.trace,
                                                         else_branch.results, else_branch.trace);
  Values operands{ir::cast(ir::reshape(condition, {}), DType::Bool)};
  operands.insert(operands.end(), closures.captures.begin(), closures.captures.end());
  const ir::CondAttrs attrs{.then_branch = {closures.then_branch},
                            .else_branch = {closures.else_branch}};
  const ir::NodeRef cond = ir::make_node(ir::Op::Cond, attrs, std::move(operands));
  Values results;
  for (std::uint32_t i = 0; i < cond->types.size(); ++i) results.push_back({cond, i});
  return results;
}

constexpr OperatorRow kControlRows[] = {
    {"If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, import_if},
};

}  // namespace

std::span<const OperatorRow> control_operators() { return kControlRows; }

}  // namespace kiln::onnx
