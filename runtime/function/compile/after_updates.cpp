// Rebuilds the outputs over the new values. A data-dependent call, which is a host call with
// data-dependent result shapes, is rebuilt with fresh symbols, since the original may run as well;
// dims and attributes with the old symbols get the fresh ones.
#include "runtime/function/compile/after_updates.h"

#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/make.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln::runtime {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeRef;
using ir::Symbol;
using ir::Value;

/// Returns the data-dependent calls that the values depend on through operands or through dims.
std::vector<const Node*> data_dependent_calls_of(std::span<const Value> roots) {
  std::vector<Value> all(roots.begin(), roots.end());
  for (const NodeRef& source : ir::symbol_sources(roots)) all.push_back({source, 0});
  std::vector<const Node*> calls;
  for (const Node* node : ir::topological_order(all)) {
    if (node->op != ir::Op::HostCall) continue;
    if (!ir::data_dependent_symbols(*node).empty()) calls.push_back(node);
  }
  return calls;
}

class AfterUpdates {
 public:
  explicit AfterUpdates(const ir::Graph& graph) {
    for (const ir::Update& update : graph.updates) values_.emplace(update.variable, update.value);
  }

  std::vector<Value> operator()(const std::vector<Value>& outputs) {
    std::vector<const Node*> left = data_dependent_calls_of(outputs);
    while (!left.empty()) {
      // A call is ready when every data-dependent call that its operands depend on is rebuilt.
      const auto is_ready = [&](const Node* call) {
        const std::vector<const Node*> before = data_dependent_calls_of(call->operands);
        return std::none_of(before.begin(), before.end(), [&](const Node* other) {
          return std::find(left.begin(), left.end(), other) != left.end();
        });
      };
      const auto next = std::find_if(left.begin(), left.end(), is_ready);
      rebuild_call(**next);
      left.erase(next);
    }
    return rebuilt(outputs);
  }

 private:
  std::vector<Value> rebuilt(std::span<const Value> roots) {
    const auto is_replaced = [&](const Value& value) { return values_.count(value) != 0; };
    for (const Node* node : ir::topological_order(roots, is_replaced)) {
      if (nodes_.count(node) == 0) nodes_.emplace(node, rebuilt_node(*node));
    }
    std::vector<Value> results;
    for (const Value& root : roots) results.push_back(mapped(root));
    return results;
  }

  Value mapped(const Value& value) const {
    if (!value) return value;
    if (const auto found = values_.find(value); found != values_.end()) return found->second;
    return {nodes_.at(value.node.get()), value.index};
  }

  NodeRef rebuilt_node(const Node& node) {
    std::vector<Value> operands;
    for (const Value& operand : node.operands) operands.push_back(mapped(operand));
    ir::Attrs attrs = node.attrs;
    bool changed = operands != node.operands;
    if (!symbols_.empty()) {
      ir::for_each_field(attrs,
                         [&](const char*, auto& member) { changed = resize(member) || changed; });
    }
    if (!changed) return node.result(0).node;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    return ir::make_node(node.op, std::move(attrs), std::move(operands));
  }

  /// Rebuilds a data-dependent call. REQUIRES: the calls that its operands depend on are rebuilt.
  void rebuild_call(const Node& call) {
    const std::vector<Value> operands = rebuilt(call.operands);
    auto attrs = call.as<ir::HostCallAttrs>();
    if (!resize(attrs.results) && operands == call.operands) return;
    const std::vector<Symbol> own = ir::data_dependent_symbols(call);
    std::unordered_map<std::int64_t, Dim> fresh;
    for (const Symbol& symbol : own) fresh.emplace(symbol.id, Dim::fresh(symbol.name));
    for (ir::Type& type : attrs.results) {
      for (Dim& dim : type.dims) dim = substituted(dim, fresh);
    }
    const ir::OriginScope scope(call.origin, /*replace=*/true);
    const NodeRef rebuilt_call = ir::make_node(ir::Op::HostCall, std::move(attrs), operands);
    const auto source = std::make_shared<const ir::SymbolSource>(ir::SymbolSource{rebuilt_call});
    for (const Symbol& symbol : own) {
      const Symbol next = *fresh.at(symbol.id).as_symbol();
      symbols_.emplace(symbol.id, Dim::of({next.id, next.name, source}));
    }
    for (std::uint32_t i = 0; i < rebuilt_call->types.size(); ++i) {
      values_.emplace(call.result(i), Value{rebuilt_call, i});
    }
  }

  static Dim substituted(const Dim& dim, const std::unordered_map<std::int64_t, Dim>& symbols) {
    return substitute(dim, [&](const Symbol& symbol) -> std::optional<Dim> {
      const auto found = symbols.find(symbol.id);
      if (found == symbols.end()) return std::nullopt;
      return found->second;
    });
  }

  /// Substitutes the new symbols in a field of a node. Returns whether the field changed.
  bool resize(Dim& dim) const {
    const Dim next = substituted(dim, symbols_);
    if (next == dim) return false;
    dim = next;
    return true;
  }
  bool resize(ir::Type& type) { return resize(type.dims); }
  template <class Item>
  bool resize(std::vector<Item>& items) {
    bool changed = false;
    if constexpr (!std::is_same_v<Item, bool>) {
      for (Item& item : items) changed = resize(item) || changed;
    }
    return changed;
  }
  bool resize(ir::LambdaRef& body) {
    ir::Lambda next = *body.lambda;
    bool changed = resize(next.parameters);
    next.results = rebuilt(next.results);
    changed = changed || next.results != body.lambda->results;
    for (ir::Guard& guard : next.guards) {
      changed = resize(guard.left) || changed;
      changed = resize(guard.right) || changed;
    }
    if (changed) body.lambda = std::make_shared<const ir::Lambda>(std::move(next));
    return changed;
  }
  template <class Other>
  bool resize(Other&) const {
    return false;
  }

  ir::Replacements values_;  // of variables, and of results of calls
  std::unordered_map<std::int64_t, Dim> symbols_;  // of calls that were rebuilt
  std::unordered_map<const Node*, NodeRef> nodes_;
};

}  // namespace

std::vector<Value> outputs_after_updates(const ir::Graph& graph) {
  return AfterUpdates(graph)(graph.outputs);
}

}  // namespace kiln::runtime
