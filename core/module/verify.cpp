// Checks each node by its type rule, that lambdas are closed, that symbols are bound by inputs, and
// that updates fit their variables.
#include "core/module/verify.h"

#include "core/ir/lambda.h"
#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>
#include <set>

namespace kiln::module {
namespace {

using ir::Node;
using ir::Value;
using Violation = std::optional<std::string>;

/// " (dot made at train.cpp:88)".
std::string origin_text(const Node& node) {
  const Where where = node.origin.where;
  return where.known() ? text(" (", def(node).name, " made at ", where.file, ":", where.line, ")")
                       : text(" (", def(node).name, ")");
}

class Verifier {
 public:
  Violation graph(const ir::Graph& graph) {
    for (const Value& root : graph.roots()) {
      if (!root) return "an output is empty";
    }
    std::set<const Node*> inputs;
    for (const Value& input : graph.inputs) {
      if (!input || input.node->op != ir::Op::Placeholder) return "an input is not a placeholder";
      if (!inputs.insert(input.node.get()).second) return "an input occurs twice";
      bind(input.type());
    }
    if (Violation violation = updates(graph)) return violation;
    for (const Node* node : ir::topological_order(graph.roots())) {
      if (node->op == ir::Op::Parameter) return "a parameter is outside of a lambda";
      if (node->op == ir::Op::Placeholder && inputs.count(node) == 0) {
        return text("placeholder ", node->as<ir::PlaceholderAttrs>().name, " is not an input");
      }
      if (Violation violation = check(*node)) return violation;
    }
    return std::nullopt;
  }

 private:
  static Violation updates(const ir::Graph& graph) {
    std::set<const Node*> seen;
    for (const ir::Update& update : graph.updates) {
      if (!update.variable || update.variable.node->op != ir::Op::Variable) {
        return "an update is not of a variable";
      }
      if (!seen.insert(update.variable.node.get()).second) return "a variable has two updates";
      if (!(update.variable.type() == update.value.type())) {
        return text("an update assigns ", update.value.type(), " to a variable of type ",
                    update.variable.type());
      }
    }
    return std::nullopt;
  }

  void bind(const ir::Type& type) {
    for (const ir::Dim& dim : type.dims) {
      ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) { symbols_.insert(symbol.id); });
    }
  }

  Violation check_symbols(const Node& node) {
    const ir::Symbol* unbound = nullptr;
    ir::for_each_symbol(node, [&](const ir::Symbol& symbol) {
      if (!unbound && symbols_.count(symbol.id) == 0) unbound = &symbol;
    });
    if (unbound) return text("size ", unbound->name, " has no source", origin_text(node));
    return std::nullopt;
  }

  Violation check(const Node& node) {
    if (Violation violation = check_symbols(node)) return violation;
    ir::Inference inference(node.op, node.attrs, node.operands, nullptr);
    if (def(node).infer(inference) != node.types) return text("types differ", origin_text(node));
    Violation violation;
    ir::for_each_lambda(node, [&](const ir::Lambda& body) {
      if (!violation) violation = lambda(body);
    });
    return violation;
  }

  Violation lambda(const ir::Lambda& lambda) {
    for (const Node* node : ir::topological_order(lambda.results)) {
      if (node->op == ir::Op::Placeholder || node->op == ir::Op::Variable) {
        return text("a lambda is not closed", origin_text(*node));
      }
      if (node->op == ir::Op::Parameter) {
        const auto& attrs = node->as<ir::ParameterAttrs>();
        const auto index = static_cast<std::size_t>(attrs.index);
        if (attrs.scope != 0 || attrs.index < 0 || index >= lambda.parameters.size() ||
            !(lambda.parameters[index] == attrs.type)) {
          return text("a parameter is not one of its lambda's", origin_text(*node));
        }
      }
      if (Violation violation = check(*node)) return violation;
    }
    for (const ir::Guard& guard : lambda.guards) {
      for (const ir::Dim& dim : {guard.left, guard.right}) {
        if (Violation violation = check_bound(dim)) return text(*violation, " (guard of a lambda)");
      }
    }
    return std::nullopt;
  }

  Violation check_bound(const ir::Dim& dim) const {
    const ir::Symbol* unbound = nullptr;
    ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) {
      if (!unbound && symbols_.count(symbol.id) == 0) unbound = &symbol;
    });
    if (unbound) return text("size ", unbound->name, " has no source");
    return std::nullopt;
  }

  std::set<std::int64_t> symbols_;
};

Violation state_violation(const Module& module) {
  std::set<const Node*> state;
  for (const StateEntry& entry : module.state) {
    if (entry.variable.node->op != ir::Op::Variable) {
      return "the state has an entry that is not a variable";
    }
    if (!state.insert(entry.variable.node.get()).second) return "the state has a variable twice";
  }
  const std::vector<StateEntry> needed = make_module(module.graph).state;
  for (const StateEntry& entry : needed) {
    if (state.count(entry.variable.node.get()) != 0) continue;
    return text("variable ", entry.variable.node->as<ir::VariableAttrs>().name,
                " is not in the state");
  }
  if (state.size() != needed.size()) return "the state has a variable that is not used";
  return std::nullopt;
}

}  // namespace

Violation verify(const ir::Graph& graph) { return Verifier().graph(graph); }

Violation verify(const Module& module) {
  if (Violation violation = verify(module.graph)) return violation;
  return state_violation(module);
}

}  // namespace kiln::module
