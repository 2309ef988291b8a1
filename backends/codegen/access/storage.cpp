// Follows aliases and views; a value in `dense` ends the walk.
#include "backends/codegen/access/storage.h"

#include "core/ops/op.h"

namespace kiln::codegen {

using ir::Node;
using ir::Value;

bool is_alias(const Node& node) { return def(node).alias; }

Value storage_of(const Value& value, const Storage& storage) {
  Value holder = value;
  while (is_alias(*holder.node) && storage.dense.count(holder) == 0) {
    const Value operand = holder.node->operands[0];
    holder = operand;
  }
  return holder;
}

bool is_leaf(const Node& node) {
  return node.op == ir::Op::Constant || def(node).lowering == ir::Lowering::Argument;
}

View trace(const Value& value, AccessMap map, const SizeNames& names, const Storage& storage) {
  return trace(value, std::move(map), names,
               [&](const Value& reached) { return storage.dense.count(reached) != 0; });
}

}  // namespace kiln::codegen
