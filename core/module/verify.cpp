// Each node's type rule once more, closed lambdas, symbols with a source, updates of variables.
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
using Fault = std::optional<std::string>;

std::string at(const Node& node) {
  const Where where = node.origin.where;
  return where.known() ? text(" (", def(node).name, " made at ", where.file, ":", where.line, ")")
                       : text(" (", def(node).name, ")");
}

class Verifier {
 public:
  Fault graph(const ir::Graph& graph) {
    for (const Value& root : graph.roots()) {
      if (!root) return "an output is empty";
    }
    std::set<const Node*> inputs;
    for (const Value& input : graph.inputs) {
      if (!input || input.node->op != ir::Op::Placeholder) return "an input is no placeholder";
      if (!inputs.insert(input.node.get()).second) return "an input occurs twice";
      bind(input.type());
    }
    if (Fault fault = updates(graph)) return fault;
    for (const Node* node : ir::topological_order(graph.roots())) {
      if (node->op == ir::Op::Parameter) return "a parameter is outside of a lambda";
      if (node->op == ir::Op::Placeholder && inputs.count(node) == 0) {
        return text("placeholder ", node->as<ir::PlaceholderAttrs>().name, " is no input");
      }
      if (Fault fault = check(*node)) return fault;
    }
    return std::nullopt;
  }

 private:
  static Fault updates(const ir::Graph& graph) {
    std::set<const Node*> seen;
    for (const ir::Update& update : graph.updates) {
      if (!update.variable || update.variable.node->op != ir::Op::Variable) {
        return "an update is of no variable";
      }
      if (!seen.insert(update.variable.node.get()).second) return "a variable has two updates";
      if (!(update.variable.type() == update.value.type())) {
        return text("an update gives ", update.value.type(), " to a variable ",
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

  Fault check_symbols(const Node& node) {
    const ir::Symbol* unbound = nullptr;
    ir::for_each_symbol(node, [&](const ir::Symbol& symbol) {
      if (!unbound && symbols_.count(symbol.id) == 0) unbound = &symbol;
    });
    if (unbound) return text("size ", unbound->name, " has no source", at(node));
    return std::nullopt;
  }

  Fault check(const Node& node) {
    if (Fault fault = check_symbols(node)) return fault;
    ir::Inference inference(node.op, node.attrs, node.operands, nullptr);
    if (def(node).infer(inference) != node.types) return text("types differ", at(node));
    Fault fault;
    ir::for_each_lambda(node, [&](const ir::Lambda& body) {
      if (!fault) fault = lambda(body);
    });
    return fault;
  }

  Fault lambda(const ir::Lambda& lambda) {
    for (const Node* node : ir::topological_order(lambda.results)) {
      if (node->op == ir::Op::Placeholder || node->op == ir::Op::Variable) {
        return text("a lambda is not closed", at(*node));
      }
      if (node->op == ir::Op::Parameter) {
        const auto& attrs = node->as<ir::ParameterAttrs>();
        const auto index = static_cast<std::size_t>(attrs.index);
        if (attrs.scope != 0 || attrs.index < 0 || index >= lambda.parameters.size() ||
            !(lambda.parameters[index] == attrs.type)) {
          return text("a parameter is not one of its lambda's", at(*node));
        }
      }
      if (Fault fault = check(*node)) return fault;
    }
    for (const ir::Guard& guard : lambda.guards) {
      for (const ir::Dim& dim : {guard.left, guard.right}) {
        if (Fault fault = check_bound(dim)) return text(*fault, " (guard of a lambda)");
      }
    }
    return std::nullopt;
  }

  Fault check_bound(const ir::Dim& dim) const {
    const ir::Symbol* unbound = nullptr;
    ir::for_each_symbol(dim, [&](const ir::Symbol& symbol) {
      if (!unbound && symbols_.count(symbol.id) == 0) unbound = &symbol;
    });
    if (unbound) return text("size ", unbound->name, " has no source");
    return std::nullopt;
  }

  std::set<std::int64_t> symbols_;
};

Fault state_fault(const Module& module) {
  std::set<const Node*> state;
  for (const StateEntry& entry : module.state) {
    if (entry.variable.node->op != ir::Op::Variable) return "the state has what is no variable";
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

Fault verify(const ir::Graph& graph) { return Verifier().graph(graph); }

Fault verify(const Module& module) {
  if (Fault fault = verify(module.graph)) return fault;
  return state_fault(module);
}

}  // namespace kiln::module
