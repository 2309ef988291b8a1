// Counts references to nodes. The last one frees the node through the intern table (intern.cpp).
#include "core/ir/node.h"

namespace kiln::ir {
NodeRef::NodeRef(const NodeRef& other) : node_(other.node_) {
  if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}

NodeRef::~NodeRef() {
  if (node_ && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    release(node_);
  }
}

Node::Node(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types, Origin origin,
           std::size_t hash)
    : op(op),
      attrs(std::move(attrs)),
      operands(std::move(operands)),
      types(std::move(types)),
      origin(origin),
      hash_(hash) {}

Node::~Node() = default;

Value Node::result(std::uint32_t index) const {
  references_.fetch_add(1, std::memory_order_relaxed);
  return {NodeRef(this), index};
}

}  // namespace kiln::ir
