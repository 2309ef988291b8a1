#include "core/module/module.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::module {

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
