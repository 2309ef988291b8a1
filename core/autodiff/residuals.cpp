// Decides in reverse topological order, users first, so that by the time a value is decided it is
// known whether a rematerialised user needs it.
#include "core/autodiff/residuals.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::autodiff {
namespace {

/// The maximum length of a chain of cheap ops that is rematerialised rather than stored.
constexpr int kMaxRematerialised = 4;

using ir::Lowering;
using ir::Node;
using ir::Value;

class ResidualChooser {
 public:
  ResidualChooser(std::span<const Value> gradients, const ValueSet& cotangents,
                  const ValueSet& available)
      : order_(ir::topological_order(gradients)), available_(available) {
    for (const Node* node : order_) {
      bool backward = false, invariant = true;
      for (const Value& operand : node->operands) {
        backward = backward || backward_.count(operand.node.get()) != 0;
        invariant = invariant && is_invariant(operand);
      }
      if (cotangents.count(node->result()) != 0) backward = true;
      if (node->op == ir::Op::Parameter && available.count(node->result()) == 0) invariant = false;
      if (backward) backward_.insert(node);
      if (invariant && !backward) invariant_.insert(node);
    }
    for (const Value& gradient : gradients) need(gradient);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (backward_.count(*it) == 0) continue;
      for (const Value& operand : (*it)->operands) need(operand);
    }
  }

  std::vector<Value> choose() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      for (std::uint32_t i = 0; i < (*it)->types.size(); ++i) decide((*it)->result(i));
    }
    std::reverse(stored_.begin(), stored_.end());
    return stored_;
  }

 private:
  bool is_invariant(const Value& value) const {
    return available_.count(value) != 0 || invariant_.count(value.node.get()) != 0;
  }

  void need(const Value& value) {
    if (!value || backward_.count(value.node.get()) != 0 || available_.count(value) != 0) return;
    needed_.insert(value);
  }

  void decide(const Value& value) {
    if (needed_.count(value) == 0) return;
    if (!rematerialises(value)) {
      stored_.push_back(value);
      return;
    }
    for (const Value& operand : value.node->operands) need(operand);
  }

  /// Values that depend on available parameters only need no memory; movement and casts are index
  /// maps or copies; a cheap scalar expression is rematerialised if that needs no further
  /// residuals.
  bool rematerialises(const Value& value) const {
    const Node& node = *value.node;
    const ir::OpDef& d = def(node);
    if (is_leaf(d)) return node.op != ir::Op::Parameter;
    if (d.lowering == Lowering::Control || d.reads_state) return false;
    if (invariant_.count(&node) != 0 && d.lowering != Lowering::Contraction) return true;
    if (d.lowering == Lowering::Movement) return keeps_operand_small(node);
    return is_cheap(node) && has_available_operands(node, kMaxRematerialised);
  }

  /// Whether every operand is available, a residual anyway, or at most `depth` cheap ops away from
  /// such values.
  bool has_available_operands(const Node& node, int depth) const {
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const Value& operand) {
      const Node& producer = *operand.node;
      if (available_.count(operand) != 0 || needed_.count(operand) != 0) return true;
      if (is_leaf(def(producer))) return producer.op != ir::Op::Parameter;
      const bool cheap = is_cheap(producer) || (def(producer).lowering == Lowering::Movement &&
                                                keeps_operand_small(producer));
      return depth > 0 && cheap && has_available_operands(producer, depth - 1);
    });
  }

  static bool is_leaf(const ir::OpDef& d) {
    return d.lowering == Lowering::Leaf || d.lowering == Lowering::Argument;
  }

  static bool is_cheap(const Node& node) {
    return def(node).lowering == Lowering::Elementwise && !def(node).expensive;
  }

  /// Whether the operand of a movement op is not larger than the result; that of a slice may be.
  static bool keeps_operand_small(const Node& node) {
    return node.operands.size() == 1 && node.op != ir::Op::Slice;
  }

  std::vector<const Node*> order_;  // of all nodes under the gradients, operands first
  const ValueSet& available_;
  std::unordered_set<const Node*> backward_;  // depend on a cotangent
  std::unordered_set<const Node*> invariant_;  // depend on available parameters only
  ValueSet needed_;  // forward values that the backward body, or a rematerialised value, uses
  std::vector<Value> stored_;
};

}  // namespace

std::vector<Value> choose_residuals(std::span<const Value> gradients, const ValueSet& cotangents,
                                    const ValueSet& available) {
  return ResidualChooser(gradients, cotangents, available).choose();
}

}  // namespace kiln::autodiff
