// Assigns a slot to each stored value, and a step to each kernel and call.
#include "backends/codegen/plan/build_plan.h"

#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

class PlanBuilder {
 public:
  PlanBuilder(const Computation& computation, const FusionPlan& fusion_plan,
              const KernelsOfGroups& kernels_of_groups, const BuiltKernels& kernels,
              std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library)
      : computation_(computation),
        names_(computation.names),
        fusion_plan_(fusion_plan),
        kernels_of_groups_(kernels_of_groups),
        kernels_(kernels),
        bodies_(bodies),
        library_(library) {}

  Plan run() {
    add_arguments(computation_.arguments);
    add_results(computation_.results);
    for (std::size_t i = 0; i < fusion_plan_.groups.size(); ++i) {
      add_steps(fusion_plan_.groups[i], kernels_of_groups_[i]);
    }
    plan_.steps.insert(plan_.steps.end(), copies_.begin(), copies_.end());
    plan_.guards = computation_.guards;
    return std::move(plan_);
  }

 private:
  SlotId new_slot(decltype(Slot::kind) kind, const Value& value) {
    return plan_.slots.add({.kind = std::move(kind),
                            .dtype = value.dtype(),
                            .dims = names_(value.dims()),
                            .node = value.node.get()});
  }

  void add_arguments(const std::vector<Value>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      plan_.arguments.emplace_back();
      if (!arguments[i]) continue;
      const SlotId slot = new_slot(ArgumentSlot{static_cast<int>(i)}, arguments[i]);
      plan_.arguments.back() = slot;
      slots_.emplace(arguments[i], slot);
    }
  }

  /// The step that computes a result writes it into the result's slot. A result that is an
  /// argument, a constant or a duplicate of another result is copied at the end.
  void add_results(const std::vector<Value>& results) {
    std::unordered_set<Value, ir::ValueHash> assigned;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Value storage = storage_of(results[i], fusion_plan_);
      const SlotId slot = new_slot(ResultSlot{static_cast<int>(i)}, results[i]);
      plan_.results.push_back(slot);
      const bool is_computed = !is_leaf(*storage.node) && assigned.insert(storage).second;
      if (is_computed) {
        slots_.emplace(storage, slot);
      } else {
        copies_.push_back(CopyStep{slot_of(storage), slot});
      }
    }
  }

  SlotId slot_of(const Value& value) {
    const Value storage = storage_of(value, fusion_plan_);
    const auto found = slots_.find(storage);
    if (found != slots_.end()) return found->second;
    const SlotId slot = new_slot(TemporarySlot{}, storage);
    if (storage.node->op == ir::Op::Constant) {
      plan_.slots.back().kind = ConstantSlot{storage.node->as<ir::ConstantAttrs>().data.bytes};
    }
    slots_.emplace(storage, slot);
    return slot;
  }

  std::vector<SlotId> slots_of(const std::vector<Value>& values) {
    std::vector<SlotId> slots;
    for (const Value& value : values) slots.push_back(slot_of(value));
    return slots;
  }

  std::vector<SlotId> results_of(const Node& node) {
    std::vector<SlotId> slots;
    for (std::uint32_t i = 0; i < node.types.size(); ++i) slots.push_back(slot_of(node.result(i)));
    return slots;
  }

  /// The plan of a Scan's body (i = 0) or of one of a Cond's branches.
  std::shared_ptr<const Plan> body(const Node& node, std::size_t i) const {
    return bodies_[computation_.bodies.at(&node)[i]];
  }

  void add_kernel(KernelId kernel) {
    KernelStep step;
    step.kernel = kernel;
    for (const Value& operand : kernels_[kernel].operands) {
      step.slots.push_back(slot_of(operand));
    }
    plan_.steps.push_back(std::move(step));
  }

  void add_convolution(const Node& node) {
    ConvolutionStep step;
    step.node = &node;
    step.dtype = node.types[0].dtype;
    step.lhs = slot_of(node.operands[0]);
    step.rhs = slot_of(node.operands[1]);
    step.result = slot_of(node.result());
    plan_.steps.push_back(std::move(step));
  }

  void add_library_call(const Node& node) {
    if (node.op == ir::Op::Conv) return add_convolution(node);
    MatmulStep step;
    step.node = &node;
    const ClaimDecision& decision = *computation_.decision(node);
    step.dtype = decision.dtype;
    bool views[2];
    for (std::size_t i = 0; i < 2; ++i) {
      // Fusion may have stored the operand dense for another reader; the claim is asked again.
      views[i] = decision.takes_view[i] &&
                 accepted_matmul(node, names_, fusion_plan_, library_, kOneView[i]).has_value();
    }
    step.form = *batched_matmul(node, names_, fusion_plan_, views);
    step.lhs = slot_of(step.form.lhs);
    step.rhs = slot_of(step.form.rhs);
    step.result = slot_of(node.result());
    plan_.steps.push_back(std::move(step));
  }

  void add_loop(const Node& node) {
    plan_.steps.push_back(
        LoopStep{&node, slots_of(node.operands), results_of(node), body(node, 0)});
  }

  void add_branch(const Node& node) {
    plan_.steps.push_back(BranchStep{
        &node, slots_of(node.operands), results_of(node), {body(node, 0), body(node, 1)}});
  }

  /// The slot of a value, if it has the value's dims; else a new one, to or from which the elements
  /// must be copied: a reshape has the slot of its operand.
  SlotId slot_with_dims(const Value& value) {
    const SlotId slot = slot_of(value);
    const bool same = plan_.slots[slot].dims == names_(value.dims());
    return same ? slot : new_slot(TemporarySlot{}, value);
  }

  /// A host function gets the dims of slots.
  void add_host_call(const Node& node) {
    HostCallStep step{&node, {}, {}};
    for (const Value& operand : node.operands) {
      step.operands.push_back(slot_with_dims(operand));
      if (step.operands.back() != slot_of(operand)) {
        plan_.steps.push_back(CopyStep{slot_of(operand), step.operands.back()});
      }
    }
    std::vector<CopyStep> copies;
    for (std::uint32_t i = 0; i < node.types.size(); ++i) {
      step.results.push_back(slot_with_dims(node.result(i)));
      const SlotId slot = slot_of(node.result(i));
      if (step.results.back() != slot) copies.push_back(CopyStep{step.results.back(), slot});
    }
    plan_.steps.push_back(std::move(step));
    plan_.steps.insert(plan_.steps.end(), copies.begin(), copies.end());
  }

  void add_row_update(const Node& node) {
    const std::vector<SlotId> operands = slots_of(node.operands);
    plan_.steps.push_back(RowUpdateStep{
        {{&node, operands[0], operands[1], operands[2], operands[3], slot_of(node.result())}}});
  }

  /// Whether a node reads the value, or it is a result.
  bool is_read(const Value& value) const {
    const std::vector<Value>& results = computation_.results;
    if (std::find(results.begin(), results.end(), value) != results.end()) return true;
    for (const Node* node : ir::topological_order(results)) {
      const auto& operands = node->operands;
      if (std::find(operands.begin(), operands.end(), value) != operands.end()) return true;
    }
    return false;
  }

  void add_attention(const Node& node) {
    AttentionStep step{&node, slots_of(node.operands), {}};
    const std::uint32_t always = node.op == ir::Op::Attention ? 1 : 3;
    for (std::uint32_t i = 0; i < node.types.size(); ++i) {
      const Value result = node.result(i);
      step.results.push_back(i < always || is_read(result) ? slot_of(result) : SlotId());
    }
    plan_.steps.push_back(std::move(step));
  }

  void add_steps(const FusionGroup& group, const std::vector<KernelId>& kernels) {
    for (const KernelId kernel : kernels) add_kernel(kernel);
    const auto* other = std::get_if<NodeGroup>(&group);
    if (!other) return;
    switch (other->kind) {
      case NodeGroup::Kind::LibraryCall: return add_library_call(*other->node);
      case NodeGroup::Kind::Loop: return add_loop(*other->node);
      case NodeGroup::Kind::Branch: return add_branch(*other->node);
      case NodeGroup::Kind::HostCall: return add_host_call(*other->node);
      case NodeGroup::Kind::RowUpdate: return add_row_update(*other->node);
      case NodeGroup::Kind::Attention: return add_attention(*other->node);
      case NodeGroup::Kind::WrittenTensor: return;
    }
  }

  const Computation& computation_;
  const SizeNames& names_;
  const FusionPlan& fusion_plan_;
  const KernelsOfGroups& kernels_of_groups_;
  const BuiltKernels& kernels_;
  std::span<const std::shared_ptr<Plan>> bodies_;
  const LibraryClaims* library_;
  Plan plan_;
  std::unordered_map<Value, SlotId, ir::ValueHash> slots_;
  std::vector<Step> copies_;
};

}  // namespace

Plan build_plan(const Computation& computation, const FusionPlan& fusion_plan,
                const KernelsOfGroups& kernels_of_groups, const BuiltKernels& kernels,
                std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library) {
  return PlanBuilder(computation, fusion_plan, kernels_of_groups, kernels, bodies, library).run();
}

}  // namespace kiln::codegen
