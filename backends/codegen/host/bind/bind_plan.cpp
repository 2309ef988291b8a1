// Binds the steps in order, then lays out packed operands and the arena of temporaries.
#include "backends/codegen/host/bind/bind_plan.h"

#include "backends/codegen/bind/build_arena.h"
#include "backends/codegen/bind/cached_steps.h"
#include "backends/codegen/host/bind/bind_step.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "core/types/no_destructor.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class Binder {
 public:
  Binder(const Plan& plan, const BindInputs& inputs, const PlanUse& use)
      : plan_(plan),
        inputs_(inputs),
        use_(use),
        out_(std::make_unique<BoundPlan>()),
        step_{plan, inputs, use, *out_} {}

  std::unique_ptr<BoundPlan> run() {
    out_->plan = &plan_;
    out_->sizes = slot_sizes(plan_, inputs_.evaluate);
    const std::vector<std::uint8_t> is_cached_slot = bind_cached_steps();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      step_.scale = use_.group ? (*use_.group->scales)[i] : 0;
      out_->steps.push_back(
          std::visit([&](const auto& step) -> BoundStep { return bind(step); }, plan_.steps[i]));
    }
    out_->parallel_region = is_parallel_region();
    lay_out_packings();
    out_->arena = build_arena(plan_, inputs_.kernels, out_->sizes, is_cached_slot,
                              step_memory(*out_), memory_of(*out_).bodies);
    return std::move(out_);
  }

 private:
  /// Records the cached steps and assigns offsets to the slots that
  /// they write. Returns CachedSteps::is_cached_slot.
  std::vector<std::uint8_t> bind_cached_steps() {
    CachedSteps cached = find_cached_steps(plan_, inputs_.kernels, use_.unchanged);
    for (std::size_t slot = 0; slot < plan_.slots.size(); ++slot) {
      out_->cached_offsets.push_back(cached.is_cached_slot[slot] ? out_->packed_bytes : -1);
      if (cached.is_cached_slot[slot]) out_->packed_bytes += aligned(out_->sizes.bytes[slot]);
    }
    out_->is_cached_step = std::move(cached.is_cached_step);
    out_->cached_arguments = std::move(cached.arguments);
    return std::move(cached.is_cached_slot);
  }

  BoundKernel bind(const KernelStep& step) const { return bind_kernel(step, step_); }
  BoundMatmul bind(const MatmulStep& step) const { return bind_matmul(step, step_); }
  BoundConvolution bind(const ConvolutionStep& step) const { return bind_convolution(step, step_); }
  BoundCopy bind(const CopyStep& step) const { return bind_copy(step, step_); }
  BoundRowUpdates bind(const RowUpdateStep& step) const { return bind_row_updates(step, step_); }
  static BoundHostCall bind(const HostCallStep&) { return {}; }
  BoundBranch bind(const BranchStep& step) const {
    BoundBranch bound;
    for (const auto& branch : step.branches) add_body(*branch, bound.bodies, {});
    return bound;
  }
  BoundLoop bind(const LoopStep& step) const {
    BoundLoop bound{bind_loop(step, out_->sizes, inputs_.evaluate), {}, {}};
    bound.spare_offsets.resize(bound.carries.size());
    bind_groups(step, bound.bodies);
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
  }

  /// Binds a body. If these sizes make that fail, the bound plan has the error for entering it.
  std::unique_ptr<BoundPlan> bind_body(const Plan& body, const PlanUse& use) const {
    static const NoDestructor<Plan> empty;
    std::unique_ptr<BoundPlan> bound;
    std::optional<BindFailure> failure = failure_of_body(
        body, inputs_.evaluate, [&] { bound = bind_plan(body, inputs_, use); });
    if (!failure) return bound;
    bound = std::make_unique<BoundPlan>();
    bound->plan = &*empty;
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
      sixteenths += kernel.range * 16 / kernel.grain;
    }
    return kernels > 1 && sixteenths >= 16 * inputs_.host.min_region_parts;
  }

  /// Assigns offsets to the packed operands of bodies. The bodies of a step share one range: groups
  /// of rows use those of the first group, and only one branch runs.
  void lay_out_packings() {
    for (BoundStep& step : out_->steps) {
      BoundBodies* bodies = bodies_of(step);
      if (!bodies) continue;
      bodies->packed_offset = out_->packed_bytes;
      std::int64_t max_bytes = 0;
      for (const auto& body : bodies->plans) max_bytes = std::max(max_bytes, body->packed_bytes);
      out_->packed_bytes += max_bytes;
    }
  }

  const Plan& plan_;
  const BindInputs& inputs_;
  const PlanUse& use_;
  std::unique_ptr<BoundPlan> out_;
  StepBinding step_;  // the one being bound
};

}  // namespace

std::unique_ptr<BoundPlan> bind_plan(const Plan& plan, const BindInputs& inputs,
                                     const PlanUse& use) {
  return Binder(plan, inputs, use).run();
}

}  // namespace kiln::codegen
