// Lists the variables of a program in call order, and keeps origins as a reader found them.
#include "core/module/module.h"

#include "core/ir/scope.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::module {

const ir::Origin& Module::origin_of(const ir::Node& node) const {
  const auto found = read_origins.find(&node);
  return found == read_origins.end() ? node.origin : found->second;
}

void Module::set_origin(const ir::Node& node, const ir::Origin& origin) {
  if (!same_scoped_origin(node.origin, origin)) read_origins.emplace(&node, origin);
}

std::vector<ir::Value> Module::written_roots() const {
  std::vector<ir::Value> roots = graph.inputs;
  for (const ir::Update& update : graph.updates) roots.push_back(update.variable);
  for (const StateEntry& entry : state) roots.push_back(entry.variable);
  for (const ir::Value& root : graph.roots()) roots.push_back(root);
  return roots;
}

const ir::Node* Module::node_numbered(std::uint64_t number) const {
  const auto order = ir::topological_order(written_roots());
  return number < order.size() ? order[number] : nullptr;
}

bool same_types(const ir::Type& a, const ir::Type& b) {
  return a.dtype == b.dtype &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), ir::same_value);
}

Module make_module(const ir::Graph& graph, std::vector<ir::Guard> guards, std::string name) {
  Module module{std::move(name), graph, {}, std::move(guards)};
  std::unordered_map<const ir::Node*, bool> seen;
  const auto add = [&](const ir::Value& variable) {
    if (seen.emplace(variable.node.get(), true).second) module.state.push_back({variable});
  };
  for (const ir::Update& update : graph.updates) add(update.variable);
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    if (node->op == ir::Op::Variable) add(node->result());
  }
  return module;
}

}  // namespace kiln::module
