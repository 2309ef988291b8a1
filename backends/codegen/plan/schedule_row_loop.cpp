// Blocks have as many threads as the step with the most work per row can use. Small rows share a
// block.
#include "backends/codegen/plan/schedule_row_loop.h"

#include "backends/codegen/grid/static_points.h"
#include "backends/codegen/plan/fuse_loops.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <bit>
#include <map>

namespace kiln::codegen {
namespace {

constexpr std::int64_t kMinThreads = 64;   // of a block: two warps hide latency from each other
constexpr std::int64_t kMaxThreads = 1024;  // of a block; each then has 64 registers
constexpr std::int64_t kAlignment = 16;      // of the shared memory of each kernel
constexpr std::int64_t kMaxParameters = 500;  // of 8 bytes; functions have 4096

std::int64_t bytes_of_dtype(DType dtype) { return static_cast<std::int64_t>(dtype_bytes(dtype)); }

class Scheduler {
 public:
  Scheduler(const LoopStep& loop, const BuiltKernels& kernels,
            const IdVector<KernelId, GridSchedule>& schedules, const GridDescription& device,
            std::string name)
      : loop_(loop),
        plan_(*loop.body),
        division_(loop.fusion->division),
        kernels_(kernels),
        schedules_(schedules),
        device_(device) {
    made_.name = std::move(name);
  }

  ScheduledLoop run() {
    list_carries();
    for (std::size_t s = 0; s < plan_.steps.size() && out_.reason.empty(); ++s) add_step(s);
    if (out_.reason.empty()) place_barriers();
    if (out_.reason.empty()) choose_blocks();
    if (out_.reason.empty() && parameters() > kMaxParameters) {
      out_.reason = text("it has ", parameters(), " parameters, more than ", kMaxParameters);
    }
    return std::move(out_);
  }

 private:
  bool is_divided(SlotId slot) const { return has_rows(plan_.slots[slot], division_.rows); }
  std::int64_t row_bytes(SlotId id) const {
    const Slot& slot = plan_.slots[id];
    return *row_elements(slot, division_.rows) * bytes_of_dtype(slot.dtype);
  }

  void list_carries() {
    const auto& attrs = loop_.node->as<ir::ScanAttrs>();
    made_.carries.resize(at(attrs.carry));
    for (const CarryStacks& one : loop_.carry_stacks) {
      made_.carries[at(one.carry)].is_stacked = true;
    }
    for (std::size_t carry = 0; carry < made_.carries.size(); ++carry) {
      if (!made_.carries[carry].is_stacked) {
        made_.carries[carry].bytes = row_bytes(plan_.results[carry]);
      }
    }
  }

  RowLoopTensor tensor_of(SlotId id) const {
    const auto& attrs = loop_.node->as<ir::ScanAttrs>();
    const int first_carry = static_cast<int>(attrs.consts) + 1;
    const int carries = static_cast<int>(attrs.carry);
    RowLoopTensor tensor;
    const Slot& slot = plan_.slots[id];
    if (const auto* argument = std::get_if<ArgumentSlot>(&slot.kind)) {
      const int carry = argument->number - first_carry;
      if (carry < 0 || carry >= carries) return tensor;
      tensor.kind = RowLoopTensor::Kind::Carry;
      tensor.carry = carry;
    } else if (const auto* result = std::get_if<ResultSlot>(&slot.kind)) {
      if (result->number >= carries) return tensor;
      tensor.kind = RowLoopTensor::Kind::NextCarry;
      tensor.carry = result->number;
    } else if (slot.is<TemporarySlot>()) {
      tensor.kind = RowLoopTensor::Kind::Temporary;
      tensor.has_rows = is_divided(id);
      tensor.bytes = row_bytes(id);
    }
    return tensor;
  }

  int number_of(SlotId slot) {
    const auto [found, is_new] = numbers_.try_emplace(slot, static_cast<int>(made_.tensors.size()));
    if (is_new) {
      made_.tensors.push_back(tensor_of(slot));
      out_.slots.push_back(slot);
    }
    return found->second;
  }

  void add_step(std::size_t s) {
    RowLoopStep step;
    step.is_whole = division_.scales[s] == 0;
    if (const auto* copy = std::get_if<CopyStep>(&plan_.steps[s])) {
      step.is_whole = step.is_whole || !is_divided(copy->to);
      step.tensors = {number_of(copy->to), number_of(copy->from)};
      step.points = *row_elements(plan_.slots[copy->to], division_.rows);
      step.work = RowLoopCopy{static_cast<int>(bytes_of_dtype(plan_.slots[copy->to].dtype))};
    } else {
      add_kernel(s, std::get<KernelStep>(plan_.steps[s]), step);
    }
    made_.steps.push_back(std::move(step));
  }

  void add_kernel(std::size_t s, const KernelStep& from, RowLoopStep& step) {
    RowLoopKernel own{kernels_[from.kernel].kernel, schedules_[from.kernel]};
    own.kernel.name = made_.name + "_" + own.kernel.name;
    GridSchedule& schedule = own.schedule;
    const std::vector<int>& axes = schedule.axes;
    if (schedule.split_k) out_.reason = text("blocks divide the sums of step ", s);
    if (schedule.form == GridForm::Owners) {
      out_.reason = text("step ", s, " adds at indices that are data");
    }
    if (!step.is_whole && (axes.empty() || axes[0] != 0)) {
      out_.reason = text("the rows of step ", s, " run in order");
    }
    if (!out_.reason.empty()) return;
    // Each thread computes one point at a time, whatever the form does for other blocks.
    if (schedule.form == GridForm::Tile) schedule.form = GridForm::Points;
    if (schedule.form == GridForm::Points) schedule.elements = schedule.unroll = 1;
    schedule.tile_axis = -1;
    schedule.batch = 1;
    ir::Dims extents;
    for (const int axis : axes) {
      const bool is_divided_axis = axis == 0 && !step.is_whole;
      extents.push_back(is_divided_axis ? ir::Dim(division_.scales[s]) : own.kernel.axes[at(axis)]);
    }
    step.points = static_points(extents);
    const std::int64_t lanes = has_teams(schedule) ? lanes_of(schedule) : 1;
    lanes_ = std::max(lanes_, lanes);
    work_ = std::max(work_, step.points * lanes);
    for (const SlotId slot : from.slots) step.tensors.push_back(number_of(slot));
    step.work = std::move(own);
  }

  /// Greedy: as late as possible.
  void place_barriers() {
    std::vector<RowLoopStep>& steps = made_.steps;
    std::size_t first = 0;  // after the last barrier
    for (std::size_t s = 1; s < steps.size(); ++s) {
      const auto conflicts = [&](const RowLoopStep& one) { return needs_barrier(one, steps[s]); };
      const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = steps.begin() + static_cast<std::ptrdiff_t>(s);
      steps[s - 1].has_barrier = std::any_of(begin, end, conflicts);
      if (steps[s - 1].has_barrier) first = s;
    }
  }

  /// Sets the threads and the rows of a block, fewer rows where these do not fit shared memory.
  void choose_blocks() {
    const auto ceiling = [](std::int64_t x) {
      return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(x)));
    };
    const auto most =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(device_.max_threads)));
    const std::int64_t work = ceiling(std::max<std::int64_t>(work_, 1));
    const std::int64_t least = std::max(lanes_, std::min(kMinThreads, most));
    made_.threads =
        static_cast<int>(std::clamp(work, least, std::max(lanes_, std::min(kMaxThreads, most))));
    const bool is_one_row = division_.rows == ir::Dim(1);
    made_.rows = is_one_row ? 1 : std::max<std::int64_t>(1, made_.threads / work);
    for (RowLoopStep& step : made_.steps) set_threads(step);
    while (true) {
      place_buffers();
      const std::int64_t needed = made_.bytes + kernel_bytes();
      if (needed <= device_.shared_bytes) return;
      if (made_.rows == 1) {
        out_.reason = text("a block needs ", needed, " bytes of shared memory, more than ",
                           device_.shared_bytes);
        return;
      }
      made_.rows /= 2;
    }
  }

  void set_threads(RowLoopStep& step) const {
    auto* own = std::get_if<RowLoopKernel>(&step.work);
    if (own == nullptr) return;
    const int lanes = lanes_of(own->schedule);
    own->schedule.threads = made_.threads;
    if (has_teams(own->schedule)) own->schedule.teams = made_.threads / lanes;
  }

  std::int64_t kernel_bytes() const {
    std::int64_t sum = 0;
    for (const RowLoopStep& step : made_.steps) {
      const auto* own = std::get_if<RowLoopKernel>(&step.work);
      if (own) sum += shared_bytes(own->kernel, own->schedule) + kAlignment;
    }
    return sum;
  }

  void place_buffers() {
    made_.bytes = 0;
    for (RowLoopCarry& carry : made_.carries) {
      carry.offset = made_.bytes;
      if (!carry.is_stacked) made_.bytes += 2 * row_loop_buffer(carry.bytes, made_.rows);
    }
    for (RowLoopTensor& tensor : made_.tensors) {
      tensor.offset = made_.bytes;
      if (tensor.kind != RowLoopTensor::Kind::Temporary) tensor.offset = 0;
      if (tensor.kind != RowLoopTensor::Kind::Temporary) continue;
      made_.bytes += row_loop_buffer(tensor.bytes, tensor.has_rows ? made_.rows : 1);
    }
  }

  std::int64_t parameters() const {
    std::int64_t count = 2 * given_tensors(made_) + 2 * stacked_carries(made_) + 4;
    count += 2 * static_cast<std::int64_t>(made_.carries.size());
    for (const RowLoopStep& step : made_.steps) {
      const auto* own = std::get_if<RowLoopKernel>(&step.work);
      if (own) count += static_cast<std::int64_t>(own->kernel.sizes.size());
    }
    return count;
  }

  const LoopStep& loop_;
  const Plan& plan_;
  const IndependentRows& division_;
  const BuiltKernels& kernels_;
  const IdVector<KernelId, GridSchedule>& schedules_;
  const GridDescription& device_;
  ScheduledLoop out_;
  RowLoop& made_ = out_.loop;
  std::map<SlotId, int> numbers_;
  std::int64_t lanes_ = 1, work_ = 1;  // of a row: maximum over all steps
};

}  // namespace

ScheduledLoop schedule_row_loop(const LoopStep& loop, const BuiltKernels& kernels,
                                const IdVector<KernelId, GridSchedule>& schedules,
                                const GridDescription& device, std::string name) {
  return Scheduler(loop, kernels, schedules, device, std::move(name)).run();
}

std::vector<const LoopStep*> fused_loops(const Plan& plan) {
  std::vector<const LoopStep*> loops;
  const auto add = [&](const Plan& body) {
    const std::vector<const LoopStep*> inner = fused_loops(body);
    loops.insert(loops.end(), inner.begin(), inner.end());
  };
  for (const Step& step : plan.steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      if (loop->fusion && loop->fusion->reason.empty()) loops.push_back(loop);
      add(*loop->body);
    }
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) add(*body);
    }
  }
  return loops;
}

}  // namespace kiln::codegen
