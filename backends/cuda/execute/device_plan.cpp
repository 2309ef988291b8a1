// Evaluates every size of a plan once, cuts its steps into segments, and builds its arena.
#include "backends/cuda/execute/device_plan.h"

#include "backends/codegen/bind/kernel_sizes.h"
#include "backends/codegen/bind/step_cost.h"
#include "backends/codegen/inspect/source.h"
#include "core/ops/halves.h"
#include "core/types/at.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <map>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;

class Binder {
 public:
  Binder(const Plan& plan, const DeviceBindInputs& inputs)
      : plan_(plan), inputs_(inputs), out_(std::make_unique<DevicePlan>()) {}

  std::unique_ptr<DevicePlan> run() {
    out_->plan = &plan_;
    const PlanFacts& facts = inputs_.facts.of(plan_);
    out_->sizes = slot_sizes(plan_, facts.shapes, inputs_.evaluate);
    for (const Step& step : plan_.steps) {
      out_->steps.push_back(
          std::visit([&](const auto& one) -> DeviceStep { return bind(one); }, step));
    }
    place_collectives();
    out_->cached = &facts.cached;
    for (std::size_t g = 0; g < facts.cached.groups.size(); ++g) add_cached_layout(g);
    list_given_slots(facts);
    batch(0, plan_.opening_end);
    batch(plan_.region_begin, plan_.region_end);
    cut();
    if (inputs_.loops.contains(&plan_)) {
      place_nothing();
    } else {
      out_->arena = build_arena(plan_, facts, out_->sizes, step_memory(),
                                [this] { return memory_of(*out_).bodies; });
    }
    return std::move(out_);
  }

 private:
  KernelLaunch bind(const KernelStep& step) const {
    const BuiltKernel& built = inputs_.program.kernels[step.kernel];
    KernelLaunch launch{
        bind_kernel(built.kernel, inputs_.kernels[step.kernel], inputs_.grid, inputs_.evaluate)};
    for (const auto& [extent, node] : built.nonempty) {
      if (launch.grid.points != 0 && inputs_.evaluate(extent) == 0) launch.empty_axis = node;
    }
    if (!writes_points(built.kernel, inputs_.evaluate)) launch.grid = {};
    return launch;
  }

  DeviceMatmul bind(const MatmulStep& step) const {
    if (inputs_.matmuls == nullptr) throw no_library(*step.node);
    // Strides of empty operands may not fit in 64 bits.
    if (out_->sizes.bytes[step.result] == 0) return {};
    DeviceMatmul bound = bind_matmul(step, *inputs_.matmuls, inputs_.evaluate);
    bound.cost = matmul_cost(step, inputs_.evaluate);
    return bound;
  }

  DeviceConvolution bind(const ConvolutionStep& step) const {
    if (inputs_.cudnn == nullptr) throw no_library(*step.node);
    DeviceConvolution bound = bind_convolution(step, *inputs_.cudnn, inputs_.evaluate);
    bound.cost = convolution_cost(step, inputs_.evaluate);
    return bound;
  }

  DeviceStep bind(const AttentionStep& step) const {
    if (ir::is_half(step.node->operands[0].dtype())) {
      if (inputs_.cudnn == nullptr) throw no_library(*step.node);
      DeviceHalfAttention bound = bind_half_attention(step, *inputs_.cudnn, inputs_.evaluate);
      bound.cost = attention_cost(step, out_->sizes, inputs_.evaluate);
      return bound;
    }
    DeviceAttention bound = bind_attention(step, inputs_.attention_kernels, inputs_.evaluate);
    bound.cost = attention_cost(step, out_->sizes, inputs_.evaluate);
    return bound;
  }

  DeviceLoop bind(const LoopStep& step) {
    DeviceLoop bound;
    bound.loop = bind_loop(step, out_->sizes, inputs_.evaluate);
    bound.spare_offsets.assign(bound.loop.carries.size(), -1);
    bound.body = body_of(*step.body);
    bound.ends_early = step.node->op == ir::Op::While;
    const auto kernel = inputs_.loops.find(step.body.get());
    if (kernel != inputs_.loops.end()) {
      bound.kernel = bind_row_loop(step, bound.loop, kernel->second, inputs_.evaluate);
    }
    if (!bound.ends_early) out_->longest_loop = std::max(out_->longest_loop, bound.loop.length);
    return bound;
  }

  DeviceBranch bind(const BranchStep& step) {
    return {{body_of(*step.branches[0]), body_of(*step.branches[1])}};
  }

  DeviceStep bind(const HostCallStep& step) {
    const auto payload = inputs_.rank_kernels == nullptr ? std::nullopt : collective_of(step);
    if (!payload) return DeviceHostCall{};
    const std::size_t number = at(payload->number);
    if (&plan_ != &inputs_.program.plan) {
      throw InternalError("bind", "", text("collective ", number, " is in a loop or a branch"));
    }
    if (!starts_collective(step)) {
      check_results(step, out_->sizes, out_->collectives, payload->number);
      return DeviceCollectiveWait{number};
    }
    if (number != out_->collectives.size()) {
      throw InternalError("bind", "", text("collective ", number, " is out of its order"));
    }
    out_->collectives.push_back(
        bind_collective(step, payload->attrs, plan_, out_->sizes, *inputs_.rank_kernels));
    return DeviceCollectiveStart{number};
  }
  [[noreturn]] static DeviceCopy bind(const RowUpdateStep& step) {
    throw InternalError("bind", "",
                        text("the cuda backend has no sparse row updates, needed by ",
                             source_of(*step.updates[0].node)));
  }
  static DeviceCopy bind(const CopyStep&) { return {}; }

  /// Working memory at the beginning, which the collectives share, then their buffers.
  void place_collectives() {
    std::int64_t& end = out_->collective_bytes;
    for (const DeviceCollective& one : out_->collectives) end = std::max(end, one.work_bytes);
    for (DeviceCollective& one : out_->collectives) {
      one.buffer = aligned(end);
      end = checked_sum(one.buffer, one.buffer_bytes, one.node);
    }
  }

  static InternalError no_library(const ir::Node& node) {
    return {"bind", "", text("the cuda backend has no library for ", source_of(node))};
  }

  /// Binds a body. One that cannot run with these sizes becomes a plan with a failure.
  DeviceBody body_of(const Plan& body) {
    DeviceBody bound;
    std::optional<BindFailure> failure = failure_of_body(
        body, inputs_.evaluate, [&] { bound.plan = bind_device_plan(body, inputs_); });
    if (failure) bound.plan = failing(std::move(*failure));
    out_->longest_loop = std::max(out_->longest_loop, bound.plan->longest_loop);
    out_->arrivals = std::max(out_->arrivals, bound.plan->arrivals);
    return bound;
  }

  static std::unique_ptr<DevicePlan> failing(BindFailure failure) {
    static const NoDestructor<Plan> empty;
    auto bound = std::make_unique<DevicePlan>();
    bound->plan = &*empty;
    bound->failure = std::move(failure);
    return bound;
  }

  /// The results of a group depend on the sizes of its kernels and of the slots.
  void add_cached_layout(std::size_t number) {
    const CachedGroup& group = out_->cached->groups[number];
    CachedLayout layout;
    layout.key = {static_cast<std::int64_t>(number)};
    layout.variables = group.arguments.size();
    for (const int step : group.steps) {
      const auto& launch = std::get<KernelLaunch>(out_->steps[at(step)]);
      layout.key.push_back(launch.grid.points);
      layout.key.insert(layout.key.end(), launch.sizes.begin(), launch.sizes.end());
    }
    for (const SlotId slot : group.slots) {
      layout.offsets.push_back(layout.bytes);
      layout.bytes += aligned(out_->sizes.bytes[slot]);
      layout.key.push_back(layout.bytes);
    }
    out_->cached_layouts.push_back(std::move(layout));
  }

  void list_given_slots(const PlanFacts& facts) {
    if (&plan_ != &inputs_.program.plan) return;
    IdVector<SlotId, bool> is_read(plan_.slots.size());
    for (std::size_t s = 0; s < facts.effects.size(); ++s) {
      if (facts.cached.is_cached_step[s]) continue;
      for (const SlotId slot : facts.effects[s].read) is_read[slot] = true;
    }
    std::vector<SlotId>& given = out_->given_slots;
    for (const SlotId slot : plan_.arguments) {
      if (slot && is_read[slot]) given.push_back(slot);
    }
    given.insert(given.end(), plan_.results.begin(), plan_.results.end());
    for (const CachedGroup& group : facts.cached.groups) given.push_back(group.slots.at(0));
  }

  /// Adds each step to the last launch of its function, unless that is full.
  void batch(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    BatchedSteps& batched = out_->batched.emplace_back(BatchedSteps{begin, end, {}});
    std::vector<std::vector<std::size_t>>& launches = batched.launches;
    std::map<const void*, std::size_t> last;  // by function
    for (std::size_t s = begin; s < end; ++s) {
      const auto& launch = std::get<KernelLaunch>(out_->steps[s]);
      if (launch.grid.points == 0 || out_->cached->is_cached_step[s]) continue;
      const auto [found, is_first] = last.try_emplace(launch.kernel->function, launches.size());
      const auto rows = at(launch.kernel->schedule.batch);
      if (!is_first && launches[found->second].size() < rows) {
        launches[found->second].push_back(s);
        continue;
      }
      found->second = launches.size();
      launches.push_back({s});
    }
  }

  // ---- operations ----

  /// The temporaries of a loop that is one kernel are in shared memory.
  void place_nothing() {
    out_->arena.offsets.assign(plan_.slots.size(), -1);
    out_->arena.next_slots.assign(plan_.slots.size(), SlotId());
  }

  /// Counts the operations of each step and cuts the steps into segments. Cached steps are part of
  /// none: calls queue them before all others.
  void cut() {
    std::vector<StepWork> work;
    for (const DeviceStep& step : out_->steps) {
      out_->first_launches.push_back(out_->launches);
      const std::int64_t before = std::exchange(out_->operations, 0);
      const bool waited = std::exchange(out_->waits_for_host, false);
      std::visit([&](const auto& one) { count(one); }, step);
      if (out_->cached->is_cached_step[work.size()]) out_->operations = 0;
      work.push_back({out_->operations, out_->waits_for_host});
      add_operations(before);
      out_->waits_for_host = out_->waits_for_host || waited;
    }
    out_->segments = cut_segments(work);
  }

  /// Saturates.
  static void add(std::int64_t& sum, std::int64_t count, std::int64_t times = 1) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(count, times, &product) ||
        __builtin_add_overflow(sum, product, &sum)) {
      sum = INT64_MAX;
    }
  }
  void add_operations(std::int64_t count) { add(out_->operations, count); }

  void count(const KernelLaunch& launch) {
    if (launch.empty_axis) out_->waits_for_host = true;
    out_->arrivals = std::max(out_->arrivals, launch.grid.arrivals);
    add_operations(1);
    add(out_->launches, 1);
  }
  void count(const DeviceLoop& bound) {
    const DevicePlan& body = *bound.body.plan;
    if (bound.ends_early) {
      out_->waits_for_host = true;
      return add(out_->launches, body.launches);
    }
    bound.kernel ? add_operations(1) : add(out_->operations, body.operations, bound.loop.length);
    add_operations(static_cast<std::int64_t>(bound.loop.carries.size() * 2));
    add(out_->launches, body.launches, bound.loop.length);
    const bool is_entered = bound.loop.length != 0;
    if (is_entered && (body.failure || body.waits_for_host)) out_->waits_for_host = true;
  }
  void count(const DeviceBranch& bound) {
    out_->waits_for_host = true;
    for (const DeviceBody& body : bound.bodies) add(out_->launches, body.plan->launches);
  }
  void count(const DeviceHostCall&) { out_->waits_for_host = true; }
  // Not captured: each rank would have to capture the same steps in the same call.
  void count(const DeviceCollectiveStart&) { out_->waits_for_host = true; }
  void count(const DeviceCollectiveWait&) { out_->waits_for_host = true; }
  void count(const DeviceMatmul& bound) { add_operations(operations_of(bound)); }
  void count(const DeviceConvolution& bound) { add_operations(operations_of(bound)); }
  void count(const DeviceAttention& bound) { add_operations(operations_of(bound)); }
  void count(const DeviceHalfAttention& bound) { add_operations(operations_of(bound)); }
  void count(const DeviceCopy&) { add_operations(1); }

  /// Partial results of kernels, scratch memory of attention, workspaces of library calls, second
  /// buffers of carries, and the arenas of bodies.
  std::vector<StepMemory> step_memory() {
    std::vector<StepMemory> own;
    for (std::size_t s = 0; s < out_->steps.size(); ++s) {
      const int step = static_cast<int>(s);
      const auto add_body = [&](DeviceBody& body) {
        own.push_back({{StepBlock::Kind::Body, step}, body.plan->arena.bytes, &body.offset});
      };
      const auto add_scratch = [&](std::int64_t bytes, std::int64_t& offset) {
        own.push_back({{StepBlock::Kind::Scratch, step}, bytes, &offset});
      };
      auto* launch = std::get_if<KernelLaunch>(&out_->steps[s]);
      if (launch != nullptr && launch->grid.partial_bytes > 0) {
        add_scratch(launch->grid.partial_bytes, launch->partials);
      }
      if (auto* matmul = std::get_if<DeviceMatmul>(&out_->steps[s])) {
        add_scratch(matmul->workspace_bytes, matmul->workspace);
      }
      if (auto* convolution = std::get_if<DeviceConvolution>(&out_->steps[s])) {
        add_scratch(convolution->workspace_bytes, convolution->workspace);
      }
      if (auto* attention = std::get_if<DeviceAttention>(&out_->steps[s])) {
        add_scratch(attention->scratch_bytes, attention->scratch);
      }
      if (auto* attention = std::get_if<DeviceHalfAttention>(&out_->steps[s])) {
        add_scratch(attention->scratch_bytes, attention->scratch);
      }
      if (auto* loop = std::get_if<DeviceLoop>(&out_->steps[s])) {
        const std::vector<SlotId>& results = std::get<LoopStep>(plan_.steps[s]).results;
        for (std::size_t i = 0; i < loop->spare_offsets.size(); ++i) {
          if (loop->loop.carries[i].stack || loop->kernel) continue;
          own.push_back({{StepBlock::Kind::SpareCarry, step},
                         out_->sizes.bytes[results[i]],
                         &loop->spare_offsets[i]});
        }
        if (loop->ends_early) add_scratch(sizeof(std::int64_t), loop->step_number);
        add_body(loop->body);
      }
      if (auto* branch = std::get_if<DeviceBranch>(&out_->steps[s])) {
        for (DeviceBody& body : branch->bodies) add_body(body);
      }
    }
    return own;
  }

  const Plan& plan_;
  const DeviceBindInputs& inputs_;
  std::unique_ptr<DevicePlan> out_;
};

}  // namespace

void check_launches(const DevicePlan& plan) {
  constexpr std::int64_t kMaxLaunches = INT32_MAX;  // CallBlock::step is larger than all numbers
  if (plan.launches <= kMaxLaunches) return;
  throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED,
                    text("a call with these sizes launches more than ", kMaxLaunches,
                         " kernels, the maximum of the cuda backend"));
}

std::unique_ptr<DevicePlan> bind_device_plan(const Plan& plan, const DeviceBindInputs& inputs) {
  return Binder(plan, inputs).run();
}

const KernelStep& kernel_of_launch(const DevicePlan& plan, std::int64_t number) {
  const std::vector<std::int64_t>& firsts = plan.first_launches;
  const auto next = std::upper_bound(firsts.begin(), firsts.end(), number);
  const std::size_t step = at(next - firsts.begin() - 1);
  const std::int64_t in_step = number - firsts[step];
  if (const auto* loop = std::get_if<DeviceLoop>(&plan.steps[step])) {
    const DevicePlan& body = *loop->body.plan;
    return kernel_of_launch(body, in_step % body.launches);
  }
  if (const auto* branch = std::get_if<DeviceBranch>(&plan.steps[step])) {
    const DevicePlan& first = *branch->bodies[0].plan;
    if (in_step < first.launches) return kernel_of_launch(first, in_step);
    return kernel_of_launch(*branch->bodies[1].plan, in_step - first.launches);
  }
  return std::get<KernelStep>(plan.plan->steps[step]);
}

MemoryNotes memory_notes(const DevicePlan& plan) {
  MemoryNotes notes;
  std::int64_t cached = 0;
  for (const CachedLayout& layout : plan.cached_layouts) cached += layout.bytes;
  if (cached != 0) notes.totals = text("; cached: ", cached, " bytes");
  notes.lines = print(*plan.cached);
  if (plan.collective_bytes == 0) return notes;
  notes.lines += text("# collectives: ", plan.collective_bytes, " bytes besides the arena\n");
  for (const DeviceCollective& one : plan.collectives) {
    notes.lines += text("#   at ", one.buffer, ": ", one.buffer_bytes, " bytes  # ",
                        source_of(*one.node), "\n");
  }
  return notes;
}

PlanMemory memory_of(const DevicePlan& plan) {
  PlanMemory memory{plan.plan, &plan.sizes, &plan.arena, {}};
  const auto add = [&](std::size_t step, const char* name, const DeviceBody& body) {
    memory.bodies.push_back({static_cast<int>(step), name, memory_of(*body.plan)});
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (const auto* loop = std::get_if<DeviceLoop>(&plan.steps[s])) add(s, "body", loop->body);
    if (const auto* branch = std::get_if<DeviceBranch>(&plan.steps[s])) {
      add(s, "then", branch->bodies[0]);
      add(s, "else", branch->bodies[1]);
    }
  }
  return memory;
}

}  // namespace kiln::cuda
