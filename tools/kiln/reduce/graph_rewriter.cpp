// Nodes that stay the same are the same pointers, so that their values stay known.
#include "tools/kiln/reduce/graph_rewriter.h"

#include "core/ir/origin.h"
#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/ops/make.h"

#include <cstring>
#include <type_traits>

namespace kiln::tool {

using ir::Dim;
using ir::Node;
using ir::NodeRef;
using ir::Value;

std::vector<std::byte> leading_elements(const std::byte* elements, const ir::Type& from,
                                        const ir::Dims& smaller) {
  const std::size_t rank = smaller.size();
  std::size_t count = 1;
  for (const Dim& dim : smaller) count *= static_cast<std::size_t>(dim.value());
  const std::size_t bytes = dtype_bytes(from.dtype);
  std::vector<std::byte> result(count * bytes);
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      at = at * static_cast<std::size_t>(from.dims[axis].value()) +
           static_cast<std::size_t>(index[axis]);
    }
    std::memcpy(result.data() + i * bytes, elements + at * bytes, bytes);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < smaller[axis].value()) break;
      index[axis] = 0;
    }
  }
  return result;
}

Value GraphRewriter::operator()(const Value& root) {
  const auto is_replaced = [&](const Value& value) { return replacements_.count(value) != 0; };
  for (const Node* node : ir::topological_order({&root, 1}, is_replaced)) {
    if (!nodes_.contains(node)) nodes_.emplace(node, rebuild(*node));
  }
  return mapped(root);
}

const Node* GraphRewriter::rebuilt(const Node& node) const {
  const NodeRef* found = nodes_.find(&node);
  return found == nullptr ? nullptr : found->get();
}

Value GraphRewriter::mapped(const Value& value) const {
  if (const auto found = replacements_.find(value); found != replacements_.end()) {
    return found->second;
  }
  return {nodes_.at(value.node.get()), value.index};
}

NodeRef GraphRewriter::rebuild(const Node& node) {
  std::vector<Value> operands;
  for (const Value& operand : node.operands) operands.push_back(mapped(operand));
  ir::Attrs attrs = node.attrs;
  bool is_changed = false;
  ir::for_each_field(attrs,
                     [&](const char*, auto& member) { is_changed = change(member) || is_changed; });
  if (!is_changed && operands == node.operands) return node.result(0).node;
  if (auto* input = std::get_if<ir::PlaceholderAttrs>(&attrs)) input->id = module::fresh_id();
  if (auto* variable = std::get_if<ir::VariableAttrs>(&attrs)) variable->id = module::fresh_id();
  if (auto* constant = std::get_if<ir::ConstantAttrs>(&attrs)) {
    const auto& old = node.as<ir::ConstantAttrs>();
    constant->data.bytes = std::make_shared<const std::vector<std::byte>>(
        leading_elements(old.data.bytes->data(), old.type, constant->type.dims));
  }
  const ir::OriginScope scope(node.origin, /*replace=*/true);
  return ir::make_node(node.op, std::move(attrs), std::move(operands));
}

bool GraphRewriter::change(Dim& dim) const {
  if (!map_dim_) return false;
  Dim next = map_dim_(dim);
  if (next == dim) return false;
  dim = std::move(next);
  return true;
}

template <class Item>
bool GraphRewriter::change(std::vector<Item>& items) const {
  bool is_changed = false;
  if constexpr (!std::is_arithmetic_v<Item>) {
    for (Item& item : items) is_changed = change(item) || is_changed;
  }
  return is_changed;
}

bool GraphRewriter::change(ir::LambdaRef& body) {
  ir::Lambda next = *body.lambda;
  change(next.parameters);
  for (Value& result : next.results) result = (*this)(result);
  for (ir::Guard& guard : next.guards) {
    change(guard.left);
    change(guard.right);
  }
  if (next == *body.lambda) return false;
  body.lambda = std::make_shared<const ir::Lambda>(std::move(next));
  return true;
}

}  // namespace kiln::tool
