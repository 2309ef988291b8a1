// What fusion and the makers of kernels ask of nodes and units alike.
#include "backends/codegen/units.h"

#include "core/ops/op.h"

namespace kiln::codegen {

using ir::Node;
using ir::Value;

std::vector<int> Unit::axes(bool of_reduced) const {
  std::vector<int> list;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i] == of_reduced) list.push_back(static_cast<int>(i));
  }
  return list;
}

bool is_alias(const Node& node) { return def(node).alias; }

Value storage_of(const Value& value, const Units& units) {
  Value storage = value;
  for (;;) {
    const auto other = units.instead.find(storage.node.get());
    const bool alias = is_alias(*storage.node) && units.dense.count(storage) == 0;
    if (other == units.instead.end() && !alias) return storage;
    const Value next = alias ? storage.node->operands[0] : other->second;
    storage = next;
  }
}

bool is_leaf(const Node& node) {
  return node.op == ir::Op::Constant || def(node).lowering == ir::Lowering::Argument;
}

View trace(const Value& value, IndexMap map, const SizeNames& names, const Units& units) {
  View view = trace(value, std::move(map), names,
                    [&](const Value& at) { return units.dense.count(at) != 0; });
  const auto other = units.instead.find(view.source.node.get());
  if (other != units.instead.end()) view.source = other->second;
  return view;
}

}  // namespace kiln::codegen
