// Finds the symbols in all attributes and types that hold dims.
#include "core/ir/symbol_source.h"

#include "core/ir/traverse.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::ir {
namespace {

using Visit = std::function<void(const Symbol&)>;

void visit_symbols(const Dim& dim, const Visit& visit) { for_each_symbol(dim, visit); }
void visit_symbols(const Type& type, const Visit& visit) {
  for (const Dim& dim : type.dims) for_each_symbol(dim, visit);
}
template <class Item>
void visit_symbols(const std::vector<Item>& items, const Visit& visit) {
  for (const Item& item : items) visit_symbols(item, visit);
}
template <class Other>
void visit_symbols(const Other&, const Visit&) {}

/// Visits the symbols of all nodes that are not in `seen`; those of lambdas before their node's.
void visit_graph(std::span<const Value> roots, std::unordered_set<const Node*>& seen,
                 const Visit& visit) {
  const auto is_seen = [&](const Value& value) { return seen.count(value.node.get()) != 0; };
  for (const Node* node : topological_order(roots, is_seen)) {
    if (!seen.insert(node).second) continue;
    for_each_lambda(*node, [&](const Lambda& lambda) {
      visit_graph(lambda.results, seen, visit);
      for_each_symbol(lambda, visit);
    });
    for_each_symbol(*node, visit);
  }
}

}  // namespace

void for_each_symbol(const Node& node, const Visit& visit) {
  visit_symbols(node.types, visit);
  for_each_field(node.attrs,
                 [&](const char*, const auto& member) { visit_symbols(member, visit); });
}

void for_each_symbol(const Lambda& lambda, const Visit& visit) {
  visit_symbols(lambda.parameters, visit);
  for (const Guard& guard : lambda.guards) {
    visit_symbols(guard.left, visit);
    visit_symbols(guard.right, visit);
  }
}

std::vector<Symbol> data_dependent_symbols(const Node& call) {
  std::unordered_set<std::int64_t> known;
  for (const Value& operand : call.operands) {
    visit_symbols(operand.type(), [&](const Symbol& symbol) { known.insert(symbol.id); });
  }
  std::vector<Symbol> found;
  visit_symbols(call.types, [&](const Symbol& symbol) {
    if (known.insert(symbol.id).second) found.push_back(symbol);
  });
  return found;
}

std::vector<NodeRef> symbol_sources(std::span<const Value> roots) {
  std::vector<NodeRef> sources;
  std::unordered_set<const Node*> seen, found;
  std::vector<Value> next(roots.begin(), roots.end());
  while (!next.empty()) {
    const std::vector<Value> current = std::move(next);
    next.clear();
    visit_graph(current, seen, [&](const Symbol& symbol) {
      if (!symbol.source || !found.insert(symbol.source->call.get()).second) return;
      sources.push_back(symbol.source->call);
      next.push_back(symbol.source->call->result());
    });
  }
  return sources;
}

}  // namespace kiln::ir
