// Node and Value: the graph. A Node is immutable and interned: equal op, attributes and operands
// are the same pointer, so that common subexpressions are shared by construction and comparing
// graphs is comparing pointers. A Value is one result of a node. Nodes are made by make_node() in
// core/ops/make.h, which infers their types.
#pragma once

#include "core/ir/attrs.h"
#include "core/ir/origin.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace kiln::ir {

/// The enumerators are in core/ops/op.h.
enum class Op : std::uint16_t;

class Node;

/// A counted reference to a node; the count is atomic. Releasing the last one frees the node and,
/// without recursion, the operands that only it referred to.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(const Node* counted) : node_(counted) {}  // adopts one count
  NodeRef(const NodeRef& other);
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();

  const Node* get() const { return node_; }
  const Node* operator->() const { return node_; }
  const Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const NodeRef&) const = default;

 private:
  static void release(const Node* node);  // in intern.cpp
  const Node* node_ = nullptr;
};

/// An edge of the graph: result `index` of `node`. Empty when default-constructed.
struct Value {
  NodeRef node;
  std::uint32_t index = 0;

  explicit operator bool() const { return static_cast<bool>(node); }
  bool operator==(const Value&) const = default;
  inline const Type& type() const;
  inline const Dims& dims() const;
  inline DType dtype() const;
  inline int rank() const;
};

struct ValueHash {
  std::size_t operator()(const Value& value) const {
    return std::hash<const void*>()(value.node.get()) * 31 + value.index;
  }
};

class Node {
 public:
  const Op op;
  const Attrs attrs;
  const std::vector<Value> operands;
  const std::vector<Type> types;
  /// The origin at which it was first requested; origins() in intern.h returns all.
  const Origin origin;
  /// How deep lambdas are nested in it; 0 without any.
  const std::uint32_t nesting;
  /// Whether it depends on a parameter of a body under construction (ParameterAttrs::scope).
  const bool is_open;

  Value result(std::uint32_t index = 0) const;
  /// The attributes. REQUIRES: they are of that struct.
  template <class Struct>
  const Struct& as() const {
    return std::get<Struct>(attrs);
  }

 private:
  friend class NodeRef;
  friend class InternTable;
  Node(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types, Origin origin,
       std::size_t hash);
  ~Node();

  const std::size_t hash_;
  mutable std::atomic<std::uint32_t> references_{1};
  mutable const Node* next_released_ = nullptr;  // worklist of nodes that are being freed
  mutable std::vector<Origin> more_origins_;     // guarded by the mutex of its shard
};

const Type& Value::type() const { return node->types[index]; }
const Dims& Value::dims() const { return type().dims; }
DType Value::dtype() const { return type().dtype; }
int Value::rank() const { return type().rank(); }

}  // namespace kiln::ir
