// Evaluates every size of a plan once, prepares library calls, and gives temporaries their offsets.
#include "backends/codegen/host/bind/bind_plan.h"

#include "backends/codegen/bind/kept_steps.h"
#include "backends/codegen/bind/place_tensors.h"
#include "backends/codegen/host/bind/bind_step.h"
#include "backends/codegen/host/bind/bound_memory.h"

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
    const std::vector<std::uint8_t> is_kept = keep_steps();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      step_.scale = use_.group ? (*use_.group->scales)[i] : 0;
      out_->steps.push_back(
          std::visit([&](const auto& step) -> BoundStep { return bind(step); }, plan_.steps[i]));
    }
    out_->parallel_region = is_parallel_region();
    place_packings();
    out_->arena = place_tensors(plan_, inputs_.kernels, out_->sizes, is_kept, step_memory(*out_),
                                memory_of(*out_).bodies);
    return std::move(out_);
  }

 private:
  /// Notes the kept steps and gives the slots that they write their offsets. Returns
  /// KeptSteps::is_kept_slot.
  std::vector<std::uint8_t> keep_steps() {
    KeptSteps kept = find_kept_steps(plan_, inputs_.kernels, use_.kept);
    for (std::size_t slot = 0; slot < plan_.slots.size(); ++slot) {
      out_->kept_offsets.push_back(kept.is_kept_slot[slot] ? out_->packed_bytes : -1);
      if (kept.is_kept_slot[slot]) out_->packed_bytes += aligned(out_->sizes.bytes[slot]);
    }
    out_->is_kept_step = std::move(kept.is_kept_step);
    out_->kept_arguments = std::move(kept.arguments);
    return std::move(kept.is_kept_slot);
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

  /// As many groups of rows as are worth a thread each; how many follows from the sizes alone.
  void bind_groups(const LoopStep& step, BoundBodies& bodies) const {
    PlanUse use;
    use.consts = static_cast<int>(step.node->as<ir::ScanAttrs>().consts);
    const std::int64_t rows = step.sharding ? step_.evaluate(step.sharding->rows) : 0;
    const HostDescription& host = inputs_.host;
    const std::int64_t groups = std::min(rows / host.loop_group_rows, host.max_loop_groups());
    if (groups < 2 || use_.group) return add_body(*step.body, bodies, use);
    for (std::int64_t g = 0; g < groups; ++g) {
      const RowGroup group{rows * g / groups, rows * (g + 1) / groups, &step.sharding->scales};
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

  /// A body that these sizes make fail keeps the error, which is thrown when it is entered.
  std::unique_ptr<BoundPlan> bind_body(const Plan& body, const PlanUse& use) const {
    // Never destroyed: calls may run while the process ends.
    static const Plan& empty = *new Plan;
    std::unique_ptr<BoundPlan> bound;
    std::optional<BindFailure> failure = failure_of_body(
        body, inputs_.evaluate, [&] { bound = bind_plan(body, inputs_, use); });
    if (!failure) return bound;
    bound = std::make_unique<BoundPlan>();
    bound->plan = &empty;
    bound->failure = std::move(failure);
    return bound;
  }

  /// Whether the kernels of the region are several and together worth several threads.
  bool is_parallel_region() const {
    std::int64_t kernels = 0, sixteenths = 0;  // of parts
    for (std::size_t i = plan_.region_begin; i < plan_.region_end; ++i) {
      const auto& kernel = std::get<BoundKernel>(out_->steps[i]);
      if (kernel.range == 0) continue;
      ++kernels;
      sixteenths += kernel.range * 16 / kernel.grain;
    }
    return kernels > 1 && sixteenths >= 16 * inputs_.host.min_region_parts;
  }

  /// Packed operands of a step's bodies share one offset: groups of rows use those of the first
  /// one, and of branches one runs.
  void place_packings() {
    for (BoundStep& step : out_->steps) {
      BoundBodies* bodies = bodies_of(step);
      if (!bodies) continue;
      bodies->packed_offset = out_->packed_bytes;
      std::int64_t most = 0;
      for (const auto& body : bodies->plans) most = std::max(most, body->packed_bytes);
      out_->packed_bytes += most;
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
