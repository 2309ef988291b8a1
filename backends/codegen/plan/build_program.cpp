// From units to steps over slots.
#include "backends/codegen/plan/build_program.h"

#include "backends/codegen/fusion/fuse.h"
#include "backends/codegen/kernel/build/build_kernel.h"
#include "backends/codegen/plan/absorb.h"
#include "backends/codegen/plan/in_place.h"
#include "backends/codegen/plan/sharding.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Value;

constexpr bool kOneView[2][2] = {{true, false}, {false, true}};

class PlanBuilder {
 public:
  PlanBuilder(Program& program, const SizeNames& names, const ProductLibrary* library)
      : program_(program), names_(names), library_(library) {}

  Plan run(const std::vector<Value>& arguments, const std::vector<Value>& results) {
    add_arguments(arguments);
    FuseOptions options;
    options.sums_in_parts = !in_body_;
    const Units none;
    options.claims = [&](const Node& node) { return decision(node).taken_by != nullptr; };
    options.takes_view = [&](const Node& node, std::size_t operand) {
      if (node.op != ir::Op::Dot) return false;
      std::string reason;
      if (product_form(node, names_, none, kOneView[operand], &reason)) return true;
      std::vector<std::string>& copies = decision(node).copies;
      if (std::find(copies.begin(), copies.end(), reason) == copies.end()) {
        copies.push_back(reason);
      }
      return false;
    };
    units_ = fuse(results, names_, options);
    program_.made.insert(program_.made.end(), units_.made.begin(), units_.made.end());
    add_results(results);
    for (const Unit& unit : units_.units) add_steps(unit);
    plan_.steps.insert(plan_.steps.end(), copies_.begin(), copies_.end());
    absorb_kernels(plan_, kernels_);
    hand_over_kernels();
    note_absorbed();
    return std::move(plan_);
  }

  /// A body: its parameters are Parameter nodes, found by index.
  Plan run(const ir::Lambda& lambda) {
    in_body_ = true;  // its rows may run apart (sharding.h), which sums over rows would prevent
    std::vector<Value> arguments(lambda.parameters.size());
    for (const Node* node : ir::topological_order(lambda.results)) {
      if (node->op != ir::Op::Parameter) continue;
      arguments[static_cast<std::size_t>(node->as<ir::ParameterAttrs>().index)] = node->result();
    }
    return run(arguments, lambda.results);
  }

 private:
  /// Made once for each node.
  ClaimDecision& decision(const Node& node) {
    const auto [found, is_new] = decisions_.emplace(&node, program_.claims.size());
    if (is_new) program_.claims.push_back(decide(node, names_, library_));
    return program_.claims[found->second];
  }

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

  std::shared_ptr<const Plan> body(const ir::LambdaRef& lambda) {
    // Guards are checked on entry, so inside the body sizes that they equate share one name.
    const SizeNames inner = names_.with(lambda->guards);
    auto plan = std::make_shared<Plan>(PlanBuilder(program_, inner, library_).run(*lambda));
    plan->guards = lambda->guards;
    return plan;
  }

  void add_kernel(const Unit& unit) {
    BuiltKernel built = build_kernel(unit, units_, names_, program_.kernels_built);
    if (built.kernel.stages.empty()) return;  // all of it is computed where it is used
    ++program_.kernels_built;
    KernelStep step;
    step.kernel = static_cast<int>(kernels_.size());
    step.slots = slots_of(built.operands);
    for (const Member& member : unit.members) {
      const auto found = decisions_.find(member.node);
      if (found != decisions_.end()) program_.claims[found->second].kernel = step.kernel;
    }
    kernels_.push_back(std::move(built));
    plan_.steps.push_back(std::move(step));
  }

  /// Those that the steps still use; their numbers are the program's from here on.
  void hand_over_kernels() {
    std::vector<int> numbers(kernels_.size(), -1);
    for (Step& step : plan_.steps) {
      auto* kernel = std::get_if<KernelStep>(&step);
      if (!kernel) continue;
      const auto own = static_cast<std::size_t>(kernel->kernel);
      numbers[own] = kernel->kernel = static_cast<int>(program_.kernels.size());
      program_.kernels.push_back(std::move(kernels_[own]));
    }
    for (const auto& [node, index] : decisions_) {
      int& kernel = program_.claims[index].kernel;
      if (kernel >= 0) kernel = numbers[static_cast<std::size_t>(kernel)];
    }
  }

  void note_absorbed() {
    for (const Step& step : plan_.steps) {
      const auto* product = std::get_if<ProductStep>(&step);
      if (!product) continue;
      ClaimDecision& made = decision(*product->node);
      if (product->bias >= 0) made.absorbed.push_back("bias");
      if (product->relu) made.absorbed.push_back("relu");
      if (!product->followed_by) continue;
      const ir::Op op = *product->followed_by;
      made.left.push_back(text(ir::def(op).name, ": ", library_->refusal_of_activation(op)));
    }
  }

  void add_convolution(const Node& node) {
    ProductStep step;
    step.node = &node;
    step.lhs = slot_of(node.operands[0]);
    step.rhs = slot_of(node.operands[1]);
    step.result = slot_of(node.result());
    plan_.steps.push_back(std::move(step));
  }

  void add_product(const Unit& unit) {
    if (unit.node->op == ir::Op::Conv) return add_convolution(*unit.node);
    bool views[2];
    for (std::size_t i = 0; i < 2; ++i) {
      views[i] = product_form(*unit.node, names_, units_, kOneView[i]).has_value();
    }
    ProductStep step;
    step.node = unit.node;
    step.form = *product_form(*unit.node, names_, units_, views);
    step.lhs = slot_of(step.form.lhs);
    step.rhs = slot_of(step.form.rhs);
    step.result = slot_of(unit.node->result());
    plan_.steps.push_back(std::move(step));
  }

  void add_loop(const Unit& unit) {
    const auto& attrs = unit.node->as<ir::ScanAttrs>();
    LoopStep step{unit.node, slots_of(unit.node->operands), results_of(*unit.node),
                  body(attrs.body)};
    step.sharding = find_sharding(step, program_.kernels);
    plan_.steps.push_back(std::move(step));
  }

  void add_branch(const Unit& unit) {
    const auto& attrs = unit.node->as<ir::CondAttrs>();
    plan_.steps.push_back(BranchStep{unit.node,
                                     slots_of(unit.node->operands),
                                     results_of(*unit.node),
                                     {body(attrs.then_branch), body(attrs.else_branch)}});
  }

  void add_host_call(const Unit& unit) {
    plan_.steps.push_back(
        HostCallStep{unit.node, slots_of(unit.node->operands), results_of(*unit.node)});
  }

  void add_steps(const Unit& unit) {
    switch (unit.kind) {
      case UnitKind::Kernel: return add_kernel(unit);
      case UnitKind::Product: return add_product(unit);
      case UnitKind::Loop: return add_loop(unit);
      case UnitKind::Branch: return add_branch(unit);
      case UnitKind::HostCall: return add_host_call(unit);
      case UnitKind::Join: return;
    }
  }

  Program& program_;
  const SizeNames& names_;
  const ProductLibrary* library_;
  bool in_body_ = false;
  Units units_;
  Plan plan_;
  std::vector<BuiltKernel> kernels_;  // of this plan's steps
  std::unordered_map<Value, int, ir::ValueHash> slots_;
  std::vector<Step> copies_;
  std::unordered_map<const Node*, std::size_t> decisions_;  // in Program::claims
};

}  // namespace

Program build_program(const std::vector<Value>& arguments, const std::vector<Value>& results,
                      const SizeNames& names, const ProductLibrary* library) {
  Program program;
  Plan plan = PlanBuilder(program, names, library).run(arguments, results);
  program.plan = std::move(plan);
  find_region(program.plan, program.kernels);
  return program;
}

}  // namespace kiln::codegen
