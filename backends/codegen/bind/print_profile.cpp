// Records of steps in the order of the program, then of tensors and bindings.
#include "backends/codegen/bind/print_profile.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/ir/argument_text.h"
#include "core/ir/scope.h"
#include "core/ops/op.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// A place in the user's program, with the part of a step that belongs to it.
struct Place {
  std::string scope;
  std::string_view function;
  Where where;
  double weight = 0;

  bool is_same(const Place& other) const {
    return where.line == other.where.line && function == other.function && scope == other.scope &&
           std::string_view(where.file) == other.where.file;
  }
};

class Places {
 public:
  explicit Places(const module::Module& module) : module_(module) {}

  void add(const ir::Node& node, double weight) {
    const ir::Origin& origin = module_.origin_of(node);
    const bool is_named = *origin.function != '\0';
    Place place{.scope = ir::scope_path(origin.scope),
                .function = is_named ? std::string_view(origin.function) : ir::def(node.op).name,
                .where = origin.where,
                .weight = weight};
    const auto known = std::find_if(places_.begin(), places_.end(),
                                    [&](const Place& one) { return one.is_same(place); });
    if (known != places_.end()) {
      known->weight += weight;
    } else {
      places_.push_back(std::move(place));
    }
  }
  void add(const std::vector<const ir::Node*>& nodes, double weight) {
    for (const ir::Node* node : nodes) add(*node, weight / static_cast<double>(nodes.size()));
  }

  void print(sdk::ProfileText& out) const {
    double whole = 0;
    for (const Place& one : places_) whole += one.weight;
    for (const Place& one : places_) {
      const double equal = 1 / static_cast<double>(places_.size());
      out.from({.share = whole > 0 ? one.weight / whole : equal,
                .scope = one.scope,
                .function = one.function,
                .file = one.where.file,
                .line = static_cast<std::uint64_t>(one.where.line)});
    }
  }

 private:
  const module::Module& module_;
  std::vector<Place> places_;
};

sdk::ProfileExtremes extremes_of(const StepSum& time) {
  return {.has_calls = time.first.calls != 0,
          .first_seconds = time.first.seconds,
          .first_bytes = time.first.cost.bytes,
          .first_operations = time.first.cost.operations,
          .shortest = time.shortest_call};
}

class ProfilePrinter {
 public:
  ProfilePrinter(const module::Module& module, const Program& program, const StepTimes& times)
      : module_(module), program_(program), times_(times) {}

  void print_steps(const Plan& plan, std::uint64_t depth) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const bool in_region = times_.has_regions && s >= plan.region_begin && s < plan.region_end;
      if (in_region && s == plan.region_begin) print_region(plan, depth);
      // The kernels of a region have times of their own only where it ran on one thread.
      print_step(plan, s, time_of(plan, s), depth);
    }
  }

  void print_memory(const PlanMemory& memory, const std::string& within) {
    for (const ArenaBlock& block : memory.arena->blocks) {
      if (block.memory.bytes != 0) print_block(memory, block, within);
    }
    for (const PlanMemory::Body& body : memory.bodies) {
      print_memory(body.memory, text(within, " in the ", body.name, " of a step"));
    }
  }

  void print_arguments(const PlanMemory& memory) {
    const Plan& plan = *memory.plan;
    for (const SlotId slot : plan.arguments) {
      if (slot) print_tensor(memory, slot, memory.sizes->bytes[slot], "argument");
    }
    for (const SlotId slot : plan.results) {
      print_tensor(memory, slot, memory.sizes->bytes[slot], "result");
    }
  }

  sdk::ProfileText out;

 private:
  StepSum time_of(const Plan& plan, std::size_t row) const {
    const auto found = times_.plans.find(&plan);
    const bool is_known = found != times_.plans.end() && row < found->second.size();
    return is_known ? found->second[row] : StepSum{};
  }

  void print_row(const StepSum& time, std::uint64_t depth, const std::string& what,
                 const Places& places) {
    out.step({.depth = depth,
              .calls = time.calls,
              .seconds = time.seconds,
              .bytes = time.cost.bytes,
              .operations = time.cost.operations,
              .text = what,
              .extremes = extremes_of(time)});
    places.print(out);
  }

  void print_region(const Plan& plan, std::uint64_t depth) {
    Places places(module_);
    std::string kernels;
    for (std::size_t s = plan.region_begin; s < plan.region_end; ++s) {
      const BuiltKernel& built = kernel_of(std::get<KernelStep>(plan.steps[s]));
      places.add(built.nodes, static_cast<double>(built.kernel.operands.size()));
      kernels += (kernels.empty() ? "" : ", ") + built.kernel.name;
    }
    print_row(time_of(plan, plan.steps.size()), depth, "in parallel: " + kernels, places);
  }

  /// " : float32" for the dtypes of the step's results.
  std::string dtypes_of(const Plan& plan, const Step& step) const {
    std::vector<DType> dtypes;
    for (const SlotId slot : effects_of(step, program_.kernels).written) {
      const DType dtype = plan.slots[slot].dtype;
      if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
    return dtypes.empty() ? "" : " : " + join_text(dtypes, ", ");
  }

  void print_step(const Plan& plan, std::size_t s, const StepSum& time, std::uint64_t depth) {
    const Step& step = plan.steps[s];
    Places places(module_);
    if (const auto* copy = std::get_if<CopyStep>(&step)) {
      const ir::Node* to = plan.slots[copy->to].node;
      if (to != nullptr) places.add(*to, 1);
    }
    const std::string what =
        std::visit([&](const auto& one) { return describe(one, places); }, step);
    print_row(time, depth, what + dtypes_of(plan, step), places);
    if (const auto* loop = std::get_if<LoopStep>(&step)) print_steps(*loop->body, depth + 1);
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) print_steps(*body, depth + 1);
    }
  }

  const BuiltKernel& kernel_of(const KernelStep& step) const {
    return program_.kernels[step.kernel];
  }

  // ---- the text of a step, and its places ----

  std::string describe(const KernelStep& step, Places& places) const {
    const BuiltKernel& built = kernel_of(step);
    places.add(built.nodes, 1);
    return "kernel " + built.kernel.name;
  }
  std::string describe(const MatmulStep& step, Places& places) const {
    places.add(*step.node, 1);
    std::string what = "matmul";
    ir::Dim batch = 1;
    for (const MatmulAxis& axis : step.form.batch) batch = batch * axis.size;
    if (batch != ir::Dim(1)) what += text(" of ", batch);
    return text(what, " M=", step.form.m.size, " N=", step.form.n.size, " K=", step.form.k.size,
                epilogue(step));
  }
  std::string describe(const ConvolutionStep& step, Places& places) const {
    places.add(*step.node, 1);
    return "convolution" + epilogue(step);
  }
  static std::string epilogue(const LibraryStep& step) {
    return text(step.bias ? " + bias" : "", print_relu(step));
  }
  std::string describe(const LoopStep& step, Places& places) const {
    places.add(*step.node, 1);
    return "loop, without its steps";
  }
  std::string describe(const BranchStep& step, Places& places) const {
    places.add(*step.node, 1);
    return "branch, without its steps";
  }
  std::string describe(const HostCallStep& step, Places& places) const {
    places.add(*step.node, 1);
    return "host call " + step.node->as<ir::HostCallAttrs>().function;
  }
  std::string describe(const RowUpdateStep& step, Places& places) const {
    for (const RowUpdate& one : step.updates) places.add(*one.node, 1);
    return "update of rows";
  }
  std::string describe(const AttentionStep& step, Places& places) const {
    places.add(*step.node, 1);
    return step.node->op == ir::Op::Attention ? "attention" : "attention gradient";
  }
  std::string describe(const CopyStep&, Places&) const { return "copy"; }

  // ---- tensors ----

  void print_tensor(const PlanMemory& memory, SlotId slot, std::int64_t bytes,
                    const std::string& kind) {
    const Slot& described = memory.plan->slots[slot];
    std::string what = text(described.dtype, "[", join_text(memory.sizes->dims(slot), ","), "]");
    const std::string_view name = described.node == nullptr ? "" : given_name(*described.node);
    if (!name.empty()) what = text(name, " ", what);
    out.tensor(bytes, kind, what);
    if (described.node == nullptr) return;
    Places places(module_);
    places.add(*described.node, 1);
    places.print(out);
  }

  void print_block(const PlanMemory& memory, const ArenaBlock& block, const std::string& within) {
    const std::vector<SlotId> slots = memory.arena->slots_of(block);
    if (!slots.empty()) {
      const bool is_shared = slots.size() > 1;
      return print_tensor(memory, slots.front(), block.memory.bytes,
                          text("temporary", within,
                               is_shared ? text(", then of ", slots.size() - 1, " more") : ""));
    }
    const auto& use = std::get<StepBlock>(block.contents);
    if (use.kind == StepBlock::Kind::Body) return;  // its tensors are printed
    Places places(module_);
    const Step& step = memory.plan->steps[at(use.step)];
    const std::string what =
        std::visit([&](const auto& one) { return describe(one, places); }, step);
    const bool is_carry = use.kind == StepBlock::Kind::SpareCarry;
    out.tensor(block.memory.bytes,
               is_carry ? "second buffer of a carry" : "working memory" + within, what);
    places.print(out);
  }

  const module::Module& module_;
  const Program& program_;
  const StepTimes& times_;
};

}  // namespace

std::string print_profile(const module::Module& module, const Program& program,
                          const StepTimes& times, const BindingTimes& bindings,
                          const std::optional<ProfiledMemory>& memory, const std::string& note) {
  ProfilePrinter printer(module, program, times);
  printer.out.call(times.whole.calls, times.whole.seconds, extremes_of(times.whole));
  printer.print_steps(program.plan, 0);
  if (memory) {
    printer.print_memory(memory->plan, "");
    printer.print_arguments(memory->plan);
    const std::int64_t packed = memory->packed_bytes;
    if (packed != 0) printer.out.tensor(packed, "packed operands and cached tensors", "");
  }
  bindings.print(printer.out);
  if (!note.empty()) printer.out.note(note);
  return printer.out.str();
}

}  // namespace kiln::codegen
