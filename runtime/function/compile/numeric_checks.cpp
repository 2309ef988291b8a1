// A program checks itself: it has the random draws, variables and loop steps of the unchecked one,
// and every backend runs host calls and ends a call without updates when one of them throws.
// Evaluating values a second time, in a function of their own, would need all of these again, and
// copies of the variables that the call has overwritten.
#include "runtime/function/compile/numeric_checks.h"

#include "core/ir/scope.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"
#include "core/types/text.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace kiln::runtime {
namespace {

using ir::Lowering;
using ir::Node;
using ir::NodeRef;
using ir::Op;
using ir::Value;

/// Whether the op computes new elements; others copy those of their operands.
bool is_computation(const Node& node) {
  switch (def(node).lowering) {
    case Lowering::Elementwise:
    case Lowering::Reduce:
    case Lowering::Running:
    case Lowering::Indexed:
    case Lowering::Contraction:
    case Lowering::Composite: return true;
    case Lowering::Argument:
    case Lowering::Leaf:
    case Lowering::Movement:
    case Lowering::Control:
    case Lowering::Structural: return false;
  }
  return false;
}

/// Formats a placeholder or a variable: "variable w at model.cpp:12".
std::string described(std::string_view kind, const std::string& name, const Node& node) {
  return text(name.empty() ? text("unnamed ", kind) : text(kind, " ", name),
              place_text(node.origin));
}

class CheckInserter {
 public:
  explicit CheckInserter(std::span<const Value> fed) : fed_(fed) {}

  /// Rebuilds `roots` with checks. `steps`: the step numbers of the enclosing loops.
  std::vector<Value> checked(std::span<const Value> roots, const std::vector<Value>& steps) const {
    return ir::rewrite_nodes(roots, [&](const NodeRef& node) {
      if (node->op == Op::Scan || node->op == Op::While) {
        return ir::results_of(checked_loop(*node, steps));
      }
      if (node->op == Op::Cond) return ir::results_of(checked_branches(*node, steps));
      std::vector<Value> results = ir::results_of(node);
      const std::string subject = subject_of(*node);
      if (subject.empty()) return results;
      for (Value& result : results) {
        if (is_float(result.dtype())) result = check(result, subject, steps);
      }
      return results;
    });
  }

 private:
  /// The beginning of the message about a value of the node; empty if none is checked.
  std::string subject_of(const Node& node) const {
    if (node.op == Op::Placeholder) {
      const bool is_fed = std::find(fed_.begin(), fed_.end(), node.result()) != fed_.end();
      const std::string& name = node.as<ir::PlaceholderAttrs>().name;
      return is_fed ? described("placeholder", name, node) + " was fed" : "";
    }
    if (node.op == Op::Variable) {
      return described("variable", node.as<ir::VariableAttrs>().name, node) + " holds";
    }
    return is_computation(node) ? op_text(node.origin, def(node).name) + " gives" : "";
  }

  static Value check(const Value& value, const std::string& subject,
                     const std::vector<Value>& steps) {
    std::vector<Value> operands{steps.empty() ? ir::scalar_constant(DType::Int64, 0) : steps.back(),
                                value};
    std::copy_if(value.node->operands.begin(), value.node->operands.end(),
                 std::back_inserter(operands),
                 [](const Value& operand) { return is_float(operand.dtype()); });
    operands.insert(operands.end(), steps.begin(), steps.end());
    return ir::make(
        Op::HostCall,
        ir::HostCallAttrs{
            .function = "check_numerics", .payload = subject, .results = {value.type()}},
        std::move(operands));
  }

  /// The lambda with checks, and with parameters for the steps of the loops around its op inserted
  /// at `position`. `is_body`: parameter 0 is the number of a further step.
  std::shared_ptr<const ir::Lambda> checked_lambda(const ir::Lambda& lambda,
                                                   std::ptrdiff_t position, std::size_t depth,
                                                   bool is_body) const {
    std::vector<ir::Type> types = lambda.parameters;
    types.insert(types.begin() + position, depth, ir::Type{DType::Int64, {}});
    const ir::LambdaBuilder builder(std::move(types));
    std::vector<Value> arguments = builder.parameters();
    const auto first = arguments.begin() + position;
    const auto last = first + static_cast<std::ptrdiff_t>(depth);
    std::vector<Value> steps(first, last);
    if (is_body) steps.push_back(arguments[0]);
    arguments.erase(first, last);
    const std::vector<Value> results = checked(ir::inline_lambda(lambda, arguments), steps);
    return builder.close_without_captures(results, lambda.guards);
  }

  NodeRef checked_loop(const Node& node, const std::vector<Value>& steps) const {
    ir::ScanAttrs attrs = node.as<ir::ScanAttrs>();
    attrs.body.lambda = checked_lambda(*attrs.body, ir::kAfterStepNumber, steps.size(), true);
    attrs.consts += static_cast<std::int64_t>(steps.size());
    std::vector<Value> operands = steps;
    operands.insert(operands.end(), node.operands.begin(), node.operands.end());
    return ir::make_node(node.op, std::move(attrs), std::move(operands));
  }

  NodeRef checked_branches(const Node& node, const std::vector<Value>& steps) const {
    ir::CondAttrs attrs = node.as<ir::CondAttrs>();
    for (ir::LambdaRef* branch : {&attrs.then_branch, &attrs.else_branch}) {
      branch->lambda = checked_lambda(**branch, 0, steps.size(), false);
    }
    std::vector<Value> operands = node.operands;
    operands.insert(operands.begin() + 1, steps.begin(), steps.end());
    return ir::make_node(Op::Cond, std::move(attrs), std::move(operands));
  }

  std::span<const Value> fed_;
};

}  // namespace

ir::Graph with_numeric_checks(const ir::Graph& graph, std::size_t fed) {
  const CheckInserter inserter(std::span(graph.inputs).first(fed));
  return ir::with_roots(graph, inserter.checked(graph.roots(), {}));
}

}  // namespace kiln::runtime
