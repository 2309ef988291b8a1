// NodeMap and NodeSet: hash containers keyed by node, for traversals. Open addressing, no erasing,
// no iteration (its order would depend on addresses).
#pragma once

#include "core/ir/node.h"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace kiln::ir {

/// T is default constructible. Pointers to values are valid until the next insertion.
template <class T>
class NodeMap {
 public:
  NodeMap() = default;
  explicit NodeMap(std::size_t expected) { reserve(expected); }

  std::size_t size() const { return size_; }
  bool contains(const Node* node) const { return find(node) != nullptr; }

  const T* find(const Node* node) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[position(node)];
    return slot.node == nullptr ? nullptr : &slot.value;
  }

  /// Inserts `value` unless the node has one: the value in the map, and whether it was inserted.
  /// REQUIRES: node is not null.
  std::pair<T*, bool> emplace(const Node* node, T value) {
    if ((size_ + 1) * 2 > slots_.size()) reserve(size_ * 2 + 8);
    Slot& slot = slots_[position(node)];
    if (slot.node != nullptr) return {&slot.value, false};
    slot = {node, std::move(value)};
    ++size_;
    return {&slot.value, true};
  }

  /// The node's value; inserts T{} for a node without one.
  T& operator[](const Node* node) { return *emplace(node, T{}).first; }

  /// Throws std::out_of_range for a node without a value.
  const T& at(const Node* node) const {
    const T* value = find(node);
    if (value == nullptr) throw std::out_of_range("NodeMap::at: the node has no value");
    return *value;
  }

  void reserve(std::size_t expected) {
    std::size_t capacity = 16;
    int bits = 4;
    for (; capacity < expected * 2; capacity *= 2) ++bits;
    if (capacity <= slots_.size()) return;
    std::vector<Slot> old(capacity);
    old.swap(slots_);
    shift_ = 64 - bits;
    for (Slot& slot : old) {
      if (slot.node != nullptr) slots_[position(slot.node)] = std::move(slot);
    }
  }

 private:
  struct Slot {
    const Node* node = nullptr;
    [[no_unique_address]] T value{};  // 8 bytes a slot in NodeSet, whose T is empty
  };

  /// The slot of the node, or the free slot where it would go (linear probing).
  std::size_t position(const Node* node) const {
    const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(node));
    std::size_t slot = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ull) >> shift_);
    while (slots_[slot].node != nullptr && slots_[slot].node != node) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 60;
};

/// A set of nodes.
class NodeSet {
 public:
  /// Whether the node was inserted.
  bool insert(const Node* node) { return nodes_.emplace(node, {}).second; }
  bool contains(const Node* node) const { return nodes_.contains(node); }

 private:
  struct Nothing {};
  NodeMap<Nothing> nodes_;
};

}  // namespace kiln::ir
