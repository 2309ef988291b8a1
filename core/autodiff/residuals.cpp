// Settles users before their operands, so that each needed value is stored or computed again once.
// Used by scan_gradient.cpp.
#include "core/autodiff/residuals.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::autodiff {
namespace {

/// How many cheap steps are computed again rather than storing their result.
constexpr int kMaxRecomputed = 4;

using ir::Lowering;
using ir::Node;
using ir::Value;

class Chooser {
 public:
  Chooser(std::span<const Value> gradients, const ValueSet& cotangents, const ValueSet& free)
      : order_(ir::topological_order(gradients)), free_(free) {
    for (const Node* node : order_) {
      bool backward = false, invariant = true;
      for (const Value& operand : node->operands) {
        backward = backward || backward_.count(operand.node.get()) != 0;
        invariant = invariant && is_invariant(operand);
      }
      if (cotangents.count(node->result()) != 0) backward = true;
      if (node->op == ir::Op::Parameter && free.count(node->result()) == 0) invariant = false;
      if (backward) backward_.insert(node);
      if (invariant && !backward) invariant_.insert(node);
    }
    for (const Value& gradient : gradients) need(gradient);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (backward_.count(*it) == 0) continue;
      for (const Value& operand : (*it)->operands) need(operand);
    }
  }

  /// Users are settled before their operands, so that a value asked for by a recomputed user is
  /// settled once.
  std::vector<Value> choose() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      for (std::uint32_t i = 0; i < (*it)->types.size(); ++i) settle((*it)->result(i));
    }
    std::reverse(stored_.begin(), stored_.end());
    return stored_;
  }

 private:
  bool is_invariant(const Value& value) const {
    return free_.count(value) != 0 || invariant_.count(value.node.get()) != 0;
  }

  void need(const Value& value) {
    if (!value || backward_.count(value.node.get()) != 0 || free_.count(value) != 0) return;
    needed_.insert(value);
  }

  void settle(const Value& value) {
    if (needed_.count(value) == 0) return;
    if (!recompute(value)) {
      stored_.push_back(value);
      return;
    }
    for (const Value& operand : value.node->operands) need(operand);
  }

  /// Whatever depends on free parameters alone costs no memory; movement and casts are index maps
  /// or a copy; a cheap scalar expression is computed again where that asks for no further value.
  bool recompute(const Value& value) const {
    const Node& node = *value.node;
    const ir::OpDef& d = def(node);
    if (is_leaf(d)) return node.op != ir::Op::Parameter;
    if (d.lowering == Lowering::Control || d.reads_state) return false;
    if (invariant_.count(&node) != 0 && d.lowering != Lowering::Contraction) return true;
    if (d.lowering == Lowering::Movement) return movement_shrinks(node);
    return is_cheap(node) && operands_at_hand(node, kMaxRecomputed);
  }

  /// Every operand is free, stored anyway, or a few cheap steps from such values.
  bool operands_at_hand(const Node& node, int depth) const {
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const Value& operand) {
      const Node& maker = *operand.node;
      if (free_.count(operand) != 0 || needed_.count(operand) != 0) return true;
      if (is_leaf(def(maker))) return maker.op != ir::Op::Parameter;
      const bool cheap = is_cheap(maker) || (def(maker).lowering == Lowering::Movement &&
                                             movement_shrinks(maker));
      return depth > 0 && cheap && operands_at_hand(maker, depth - 1);
    });
  }

  static bool is_leaf(const ir::OpDef& d) {
    return d.lowering == Lowering::Leaf || d.lowering == Lowering::Argument;
  }

  static bool is_cheap(const Node& node) {
    return def(node).lowering == Lowering::Elementwise && !def(node).expensive;
  }

  /// Whether the operand is not larger than the result: a slice's may be.
  static bool movement_shrinks(const Node& node) {
    return node.operands.size() == 1 && node.op != ir::Op::Slice;
  }

  std::vector<const Node*> order_;
  const ValueSet& free_;
  std::unordered_set<const Node*> backward_, invariant_;
  ValueSet needed_;
  std::vector<Value> stored_;
};

}  // namespace

std::vector<Value> choose_residuals(std::span<const Value> gradients, const ValueSet& cotangents,
                                    const ValueSet& free) {
  return Chooser(gradients, cotangents, free).choose();
}

}  // namespace kiln::autodiff
