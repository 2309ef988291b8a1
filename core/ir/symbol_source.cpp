// Symbols of nodes, found in all fields that hold dims.
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

/// Nodes of lambdas are visited before the node that holds them.
void for_each_node(std::span<const Value> roots, std::unordered_set<const Node*>& seen,
                   const std::function<void(const Node&)>& visit) {
  const auto is_seen = [&](const Value& value) { return seen.count(value.node.get()) != 0; };
  for (const Node* node : topological_order(roots, is_seen)) {
    if (!seen.insert(node).second) continue;
    for_each_lambda(*node, [&](const Lambda& lambda) {
      for_each_node(lambda.results, seen, visit);
    });
    visit(*node);
  }
}

}  // namespace

void for_each_symbol(const Node& node, const Visit& visit) {
  visit_symbols(node.types, visit);
  for_each_field(node.attrs,
                 [&](const char*, const auto& member) { visit_symbols(member, visit); });
}

std::vector<Symbol> own_symbols(const Node& call) {
  std::unordered_set<std::int64_t> known;
  for (const Value& operand : call.operands) {
    visit_symbols(operand.type(), [&](const Symbol& symbol) { known.insert(symbol.id); });
  }
  std::vector<Symbol> own;
  visit_symbols(call.types, [&](const Symbol& symbol) {
    if (known.insert(symbol.id).second) own.push_back(symbol);
  });
  return own;
}

std::vector<NodeRef> symbol_sources(std::span<const Value> roots) {
  std::vector<NodeRef> sources;
  std::unordered_set<const Node*> seen, found;
  std::vector<Value> next(roots.begin(), roots.end());
  while (!next.empty()) {
    const std::vector<Value> current = std::move(next);
    next.clear();
    for_each_node(current, seen, [&](const Node& node) {
      for_each_symbol(node, [&](const Symbol& symbol) {
        if (!symbol.source || !found.insert(symbol.source->call.get()).second) return;
        sources.push_back(symbol.source->call);
        next.push_back(symbol.source->call->result());
      });
    });
  }
  return sources;
}

}  // namespace kiln::ir
