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

Node::~Node() = default;

Value Node::result(std::uint32_t index) const {
  references_.fetch_add(1, std::memory_order_relaxed);
  return {NodeRef(this), index};
}

}  // namespace kiln::ir
