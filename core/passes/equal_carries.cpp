// Partition refinement of the carries; hashes of bodies, from parameters to results.
#include "core/passes/equal_carries.h"

#include "core/ir/attrs_hash.h"
#include "core/ir/node_map.h"

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

std::size_t combine(std::size_t hash, std::size_t with) { return hash * 1000003 + with; }

/// Numbers equivalence classes by key, in order of first appearance.
class Classes {
 public:
  std::size_t operator()(std::size_t before, const Value& value) {
    return numbers_.emplace(Key{before, value}, numbers_.size()).first->second;
  }
  std::size_t count() const { return numbers_.size(); }

 private:
  using Key = std::pair<std::size_t, Value>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return combine(ir::ValueHash()(key.second), key.first);
    }
  };
  std::unordered_map<Key, std::size_t, KeyHash> numbers_;
};

/// Classes of carries of both loops that are equal at every step. Carries are in one class if they
/// have the same initial value and, with the carries of each class substituted for each other, the
/// same next value. Partition refinement (P. Kanellakis and S. Smolka, 1990) finds the coarsest
/// such partition: it starts with the classes of initial values and splits them until none changes.
struct CarryClasses {
  std::vector<std::size_t> of_a, of_b;

  CarryClasses(const ScanParts& a, const ScanParts& b, const ir::Replacements& shared) {
    Classes first;
    for (const Value& initial : a.initial) of_a.push_back(first(0, initial));
    for (const Value& initial : b.initial) of_b.push_back(first(0, initial));
    for (std::size_t count = 0, next = first.count(); count != next;) {
      count = next;
      next = refine(a, b, shared, count);
    }
  }

 private:
  /// Splits the classes by next values; returns how many there are now.
  std::size_t refine(const ScanParts& a, const ScanParts& b, const ir::Replacements& shared,
                     std::size_t count) {
    std::vector<Value> members(count);  // the representative of each class
    ir::Replacements in_a, in_b = shared;
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      Value& member = members[of_a[i]];
      if (!member) member = a.carry[i];
      in_a.emplace(a.carry[i], member);
    }
    for (std::size_t i = 0; i < of_b.size(); ++i) {
      Value& member = members[of_b[i]];
      if (!member) member = b.carry[i];
      in_b.emplace(b.carry[i], member);
    }
    const std::vector<Value> next_a = a.replaced(a.next, std::move(in_a));
    const std::vector<Value> next_b = b.replaced(b.next, std::move(in_b));
    Classes finer;
    for (std::size_t i = 0; i < of_a.size(); ++i) of_a[i] = finer(of_a[i], next_a[i]);
    for (std::size_t i = 0; i < of_b.size(); ++i) of_b[i] = finer(of_b[i], next_b[i]);
    return finer.count();
  }
};

}  // namespace

std::vector<std::optional<std::size_t>> equal_carries(const ScanParts& a, const ScanParts& b,
                                                      const ir::Replacements& shared) {
  const CarryClasses classes(a, b, shared);
  std::unordered_map<std::size_t, std::size_t> carry_of;  // the first of each class in a
  for (std::size_t i = 0; i < classes.of_a.size(); ++i) carry_of.emplace(classes.of_a[i], i);
  std::vector<std::optional<std::size_t>> pairs(b.carry.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto found = carry_of.find(classes.of_b[i]);
    if (found != carry_of.end()) pairs[i] = found->second;
  }
  return pairs;
}

std::vector<std::size_t> carry_hashes(const ScanParts& parts) {
  ir::NodeMap<std::size_t> changing;  // hashes of nodes that depend on parameters
  changing.emplace(parts.step.node.get(), 1);
  for (std::size_t i = 0; i < parts.carry.size(); ++i) {
    changing.emplace(parts.carry[i].node.get(), ir::ValueHash()(parts.initial[i]));
  }
  for (std::size_t i = 0; i < parts.slices.size(); ++i) {
    changing.emplace(parts.slices[i].node.get(), combine(2, ir::ValueHash()(parts.xs[i])));
  }
  const auto hash_of = [&](const Value& value) {
    const std::size_t* hash = changing.find(value.node.get());
    return hash == nullptr ? ir::ValueHash()(value) : combine(*hash, value.index);
  };
  for (const Node* node : parts.order(parts.next)) {
    std::size_t hash = combine(ir::hash(node->attrs), static_cast<std::size_t>(node->op));
    bool changes = false;
    for (const Value& operand : node->operands) {
      changes = changes || changing.contains(operand.node.get());
      hash = combine(hash, hash_of(operand));
    }
    if (changes) changing.emplace(node, hash);
  }
  std::vector<std::size_t> hashes;
  for (std::size_t i = 0; i < parts.carry.size(); ++i) {
    hashes.push_back(combine(ir::ValueHash()(parts.initial[i]), hash_of(parts.next[i])));
  }
  return hashes;
}

}  // namespace kiln::passes
