// Binds the steps in order, then lays out packed operands and the arena of temporaries.
#include "backends/codegen/host/bind/bind_plan.h"

#include "backends/codegen/bind/build_arena.h"
#include "backends/codegen/host/bind/bind_step.h"
#include "backends/codegen/host/bind/bind_weights.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "core/types/no_destructor.h"

#include <algorithm>
#include <optional>

namespace kiln::codegen {
namespace {

class Binder {
 public:
  Binder(const Plan& plan, const BindInputs& inputs, const PlanUse& use)
      : plan_(plan),
        inputs_(inputs),
        use_(use),
        out_(new_bound_plan(inputs)),
        step_{plan, inputs, use, *out_, last_matmul_} {}

  BoundPlanPtr run() {
    out_->plan = &plan_;
    out_->facts = &inputs_.facts.of(plan_);
    out_->sizes = slot_sizes(plan_, out_->facts->shapes, inputs_.evaluate, memory());
    out_->steps.reserve(plan_.steps.size());
    out_->packings.reserve(out_->facts->max_packings);
    out_->packing_parts.reserve(out_->facts->max_packings);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      step_.scale = use_.group ? (*use_.group->scales)[i] : 0;
      out_->steps.push_back(
          std::visit([&](const auto& step) -> BoundStep { return bind(step); }, plan_.steps[i]));
    }
    out_->parallel_region = is_parallel_region();
    if (use_.is_program) bind_weights(*out_, inputs_);
    lay_out_packings();
    out_->arena = build_arena(
        plan_, *out_->facts, out_->sizes, step_memory(*out_, inputs_.memory.scratch),
        [this] { return memory_of(*out_).bodies; }, inputs_.memory);
    return std::move(out_);
  }

 private:
  std::pmr::memory_resource* memory() const { return inputs_.memory.plan; }

  static BoundPlanPtr new_bound_plan(const BindInputs& inputs) {
    return make_in<BoundPlan>(inputs.memory.plan, inputs.memory.plan);
  }

  BoundKernel bind(const KernelStep& step) const { return bind_kernel(step, step_); }
  BoundMatmul bind(const MatmulStep& step) const { return bind_matmul(step, step_); }
  BoundConvolution bind(const ConvolutionStep& step) const { return bind_convolution(step, step_); }
  BoundCopy bind(const CopyStep& step) const { return bind_copy(step, step_); }
  BoundRowUpdates bind(const RowUpdateStep& step) const { return bind_row_updates(step, step_); }
  BoundAttention bind(const AttentionStep& step) const { return bind_attention(step, step_); }
  static BoundHostCall bind(const HostCallStep&) { return {}; }
  BoundBranch bind(const BranchStep& step) const {
    BoundBranch bound{{List<BoundPlanPtr>(memory()), List<std::int64_t>(memory())}};
    for (const auto& branch : step.branches) add_body(*branch, bound.bodies, {});
    return bound;
  }
  PtrIn<BoundLoop> bind(const LoopStep& step) const {
    auto bound = make_in<BoundLoop>(
        memory(), bind_loop(step, out_->sizes, inputs_.evaluate, memory()), memory());
    bind_groups(step, bound->bodies);
    return bound;
  }

  /// Binds the body once per group of rows. The number of groups depends on the sizes alone.
  void bind_groups(const LoopStep& step, BoundBodies& bodies) const {
    PlanUse use;
    use.consts = static_cast<int>(step.node->as<ir::ScanAttrs>().consts);
    const std::int64_t rows =
        step.independent_rows ? step_.evaluate(step.independent_rows->rows) : 0;
    const HostDescription& host = inputs_.host;
    const std::int64_t groups = std::min(rows / host.loop_group_rows, host.max_loop_groups());
    if (groups < 2 || use_.group) return add_body(*step.body, bodies, use);
    for (std::int64_t g = 0; g < groups; ++g) {
      const RowGroup group{rows * g / groups, rows * (g + 1) / groups,
                           &step.independent_rows->scales};
      use.group = &group;
      if (g > 0) use.first = bodies.plans[0].get();
      add_body(*step.body, bodies, use);
      if (bodies.plans[0]->failure) return;
    }
  }

  void add_body(const Plan& body, BoundBodies& bodies, const PlanUse& use) const {
    bodies.plans.push_back(bind_body(body, use));
    bodies.offsets.push_back(0);
    out_->retained_bytes += bodies.plans.back()->retained_bytes;
  }

  /// Binds a body. If these sizes make that fail, the bound plan has the error for entering it.
  BoundPlanPtr bind_body(const Plan& body, const PlanUse& use) const {
    static const NoDestructor<Plan> empty;
    static const NoDestructor<PlanFacts> no_facts(*empty, BuiltKernels());
    BoundPlanPtr bound;
    std::optional<BindFailure> failure =
        failure_of_body(body, inputs_.evaluate, [&] { bound = bind_plan(body, inputs_, use); });
    if (!failure) return bound;
    bound = new_bound_plan(inputs_);
    bound->plan = &*empty;
    bound->facts = &*no_facts;
    bound->failure = std::move(failure);
    return bound;
  }

  /// Whether the region has several kernels and enough work for several threads.
  bool is_parallel_region() const {
    std::int64_t kernels = 0, sixteenths = 0;  // of a part of kernel_grain
    for (std::size_t i = plan_.region_begin; i < plan_.region_end; ++i) {
      const auto& kernel = std::get<BoundKernel>(out_->steps[i]);
      if (kernel.range == 0) continue;
      ++kernels;
      // Without overflow: a range that only indices are computed of may have any size.
      const std::int64_t whole = kernel.range / kernel.grain, rest = kernel.range % kernel.grain;
      sixteenths += whole * 16 + rest * 16 / kernel.grain;
    }
    return kernels > 1 && sixteenths >= 16 * inputs_.host.min_region_parts;
  }

  /// Assigns offsets to the operands that loops pack whenever they begin.
  void lay_out_packings() {
    for (std::size_t s = 0; s < out_->steps.size(); ++s) {
      BoundLoop* const loop = loop_of(out_->steps[s]);
      if (!loop) continue;
      const auto is_weight = [&](std::size_t packing) {
        return std::any_of(out_->weights.begin(), out_->weights.end(), [&](const BoundWeight& one) {
          return one.loop == static_cast<int>(s) && one.packing == static_cast<int>(packing);
        });
      };
      List<Packing>& packings = loop->bodies.plans[0]->packings;
      for (std::size_t i = 0; i < packings.size(); ++i) {
        if (is_weight(i)) continue;
        packings[i].offset = loop->packed.bytes;
        loop->packed.bytes += packings[i].bytes;
      }
    }
  }

  const Plan& plan_;
  const BindInputs& inputs_;
  const PlanUse& use_;
  BoundPlanPtr out_;
  LastMatmul last_matmul_;
  StepBinding step_;  // the one being bound
};

}  // namespace

BoundPlanPtr bind_plan(const Plan& plan, const BindInputs& inputs, const PlanUse& use) {
  return Binder(plan, inputs, use).run();
}

}  // namespace kiln::codegen
