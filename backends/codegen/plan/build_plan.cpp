// From units to steps over slots.
#include "backends/codegen/plan/build_plan.h"

#include "core/ops/op.h"

#include <unordered_map>
#include <unordered_set>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

class PlanBuilder {
 public:
  PlanBuilder(const Computation& computation, const Units& units,
              const KernelsOfUnits& kernels_of_units, const std::vector<BuiltKernel>& kernels,
              std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library)
      : computation_(computation),
        names_(computation.names),
        units_(units),
        kernels_of_units_(kernels_of_units),
        kernels_(kernels),
        bodies_(bodies),
        library_(library) {}

  Plan run() {
    add_arguments(computation_.arguments);
    add_results(computation_.results);
    for (std::size_t i = 0; i < units_.units.size(); ++i) {
      add_steps(units_.units[i], kernels_of_units_[i]);
    }
    plan_.steps.insert(plan_.steps.end(), copies_.begin(), copies_.end());
    plan_.guards = computation_.guards;
    return std::move(plan_);
  }

 private:
  int new_slot(Slot::Kind kind, const Value& value, int number = 0) {
    Slot slot;
    slot.kind = kind;
    slot.dtype = value.dtype();
    slot.dims = names_(value.dims());
    slot.number = number;
    slot.node = value.node.get();
    plan_.slots.push_back(std::move(slot));
    return static_cast<int>(plan_.slots.size()) - 1;
  }

  void add_arguments(const std::vector<Value>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      plan_.arguments.push_back(-1);
      if (!arguments[i]) continue;
      const int slot = new_slot(Slot::Kind::Argument, arguments[i], static_cast<int>(i));
      plan_.arguments.back() = slot;
      slots_.emplace(arguments[i], slot);
    }
  }

  /// A result is written where its maker writes; what nobody makes, or what is already another
  /// result, is copied.
  void add_results(const std::vector<Value>& results) {
    std::unordered_set<Value, ir::ValueHash> taken;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Value storage = storage_of(results[i], units_);
      const int slot = new_slot(Slot::Kind::Result, results[i], static_cast<int>(i));
      plan_.results.push_back(slot);
      const bool own = !is_leaf(*storage.node) && taken.insert(storage).second;
      if (own) {
        slots_.emplace(storage, slot);
      } else {
        copies_.push_back(CopyStep{slot_of(storage), slot});
      }
    }
  }

  int slot_of(const Value& value) {
    const Value storage = storage_of(value, units_);
    const auto found = slots_.find(storage);
    if (found != slots_.end()) return found->second;
    const bool constant = storage.node->op == ir::Op::Constant;
    const int slot = new_slot(constant ? Slot::Kind::Constant : Slot::Kind::Temporary, storage);
    if (constant) {
      plan_.slots.back().bytes = storage.node->as<ir::ConstantAttrs>().data.bytes;
    }
    slots_.emplace(storage, slot);
    return slot;
  }

  std::vector<int> slots_of(const std::vector<Value>& values) {
    std::vector<int> slots;
    for (const Value& value : values) slots.push_back(slot_of(value));
    return slots;
  }

  std::vector<int> results_of(const Node& node) {
    std::vector<int> slots;
    for (std::uint32_t i = 0; i < node.types.size(); ++i) slots.push_back(slot_of(node.result(i)));
    return slots;
  }

  /// Of a Scan its body's plan, of a Cond those of its branches.
  std::shared_ptr<const Plan> body(const Node& node, std::size_t i) const {
    return bodies_[computation_.bodies.at(&node)[i]];
  }

  void add_kernel(int number) {
    KernelStep step;
    step.kernel = number;
    step.slots = slots_of(kernels_[static_cast<std::size_t>(number)].operands);
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

  void add_product(const Unit& unit) {
    if (unit.node->op == ir::Op::Conv) return add_convolution(*unit.node);
    MatmulStep step;
    step.node = unit.node;
    const ClaimDecision& decision = *computation_.decision(*unit.node);
    step.dtype = decision.dtype;
    bool views[2];
    for (std::size_t i = 0; i < 2; ++i) {
      // An operand that fusion wrote out for somebody else is read dense.
      views[i] = decision.takes_view[i] &&
                 accepted_form(*unit.node, names_, units_, library_, kOneView[i]).has_value();
    }
    step.form = *product_form(*unit.node, names_, units_, views);
    step.lhs = slot_of(step.form.lhs);
    step.rhs = slot_of(step.form.rhs);
    step.result = slot_of(unit.node->result());
    plan_.steps.push_back(std::move(step));
  }

  void add_loop(const Unit& unit) {
    plan_.steps.push_back(LoopStep{unit.node, slots_of(unit.node->operands), results_of(*unit.node),
                                   body(*unit.node, 0)});
  }

  void add_branch(const Unit& unit) {
    plan_.steps.push_back(BranchStep{unit.node,
                                     slots_of(unit.node->operands),
                                     results_of(*unit.node),
                                     {body(*unit.node, 0), body(*unit.node, 1)}});
  }

  void add_host_call(const Unit& unit) {
    plan_.steps.push_back(
        HostCallStep{unit.node, slots_of(unit.node->operands), results_of(*unit.node)});
  }

  void add_row_update(const Node& node) {
    const std::vector<int> operands = slots_of(node.operands);
    plan_.steps.push_back(RowUpdateStep{
        {{&node, operands[0], operands[1], operands[2], operands[3], slot_of(node.result())}}});
  }

  void add_steps(const Unit& unit, const std::vector<int>& kernels) {
    for (const int kernel : kernels) add_kernel(kernel);
    switch (unit.kind) {
      case UnitKind::Product: return add_product(unit);
      case UnitKind::Loop: return add_loop(unit);
      case UnitKind::Branch: return add_branch(unit);
      case UnitKind::HostCall: return add_host_call(unit);
      case UnitKind::RowUpdate: return add_row_update(*unit.node);
      case UnitKind::Kernel:
      case UnitKind::Join: return;
    }
  }

  const Computation& computation_;
  const SizeNames& names_;
  const Units& units_;
  const KernelsOfUnits& kernels_of_units_;
  const std::vector<BuiltKernel>& kernels_;
  std::span<const std::shared_ptr<Plan>> bodies_;
  const LibraryClaims* library_;
  Plan plan_;
  std::unordered_map<Value, int, ir::ValueHash> slots_;
  std::vector<Step> copies_;
};

}  // namespace

Plan build_plan(const Computation& computation, const Units& units,
                const KernelsOfUnits& kernels_of_units, const std::vector<BuiltKernel>& kernels,
                std::span<const std::shared_ptr<Plan>> bodies, const LibraryClaims* library) {
  return PlanBuilder(computation, units, kernels_of_units, kernels, bodies, library).run();
}

}  // namespace kiln::codegen
