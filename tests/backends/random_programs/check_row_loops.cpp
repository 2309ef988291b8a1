// Both ways get the same parameters of the loop; launches have their temporaries in memory of their
// own.
#include "tests/backends/random_programs/check_row_loops.h"

#include "backends/codegen/plan/fuse_loops.h"
#include "backends/codegen/plan/schedule_row_loop.h"
#include "core/ops/convert.h"
#include "core/types/at.h"
#include "core/types/text.h"
#include "tests/backends/codegen/emulated_kernels.h"
#include "tests/backends/codegen/parse_kernel.h"
#include "tests/backends/codegen/row_loop_run.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cstring>

namespace kiln::testing {
namespace {

using namespace codegen;
using Bytes = std::vector<std::byte>;
using kiln::test::ThreadOrder;

constexpr std::int64_t kSteps = 3;

std::int64_t value_of(const ir::Dim& dim) { return dim.value(); }

bool is_static(const LoopStep& loop, const ScheduledLoop& scheduled) {
  const auto has_size = [&](SlotId slot) {
    return ir::product(loop.body->slots[slot].dims).is_static();
  };
  const auto has_sizes = [](const RowLoopStep& step) {
    const auto* own = std::get_if<RowLoopKernel>(&step.work);
    return own && !own->kernel.sizes.empty();
  };
  return loop.fusion->division.rows.is_static() &&
         std::all_of(scheduled.slots.begin(), scheduled.slots.end(), has_size) &&
         std::none_of(scheduled.loop.steps.begin(), scheduled.loop.steps.end(), has_sizes);
}

/// Small numbers, among them indices out of range.
Bytes numbers(DType dtype, std::int64_t count) {
  Bytes bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = dtype == DType::Bool ? static_cast<double>(i * 7 % 3 % 2)
                                               : static_cast<double>(i * 7 % 5) - 1;
    const Bytes element = ir::scalar_bytes(dtype, number);
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

/// The memory of a loop: what its parameters point to.
class LoopMemory {
 public:
  LoopMemory(const LoopStep& loop, const ScheduledLoop& scheduled)
      : loop_(loop), scheduled_(scheduled), run_(scheduled.loop) {
    const auto& attrs = loop.node->as<ir::ScanAttrs>();
    const int first_slice = static_cast<int>(1 + attrs.consts + attrs.carry);
    for (std::size_t i = 0; i < scheduled.slots.size(); ++i) {
      if (scheduled.loop.tensors[i].kind != RowLoopTensor::Kind::Given) continue;
      const Slot& slot = loop.body->slots[scheduled.slots[i]];
      const auto* argument = std::get_if<ArgumentSlot>(&slot.kind);
      const bool moves = slot.is<ResultSlot>() ||
                         (argument && (argument->number == 0 || argument->number >= first_slice));
      add(slot, moves ? kSteps : 1);
      const std::int64_t slice = static_cast<std::int64_t>(memory_.back().size()) / kSteps;
      numbers_.push_back(moves ? slice : 0);
      if (argument && argument->number == 0) set_steps();
    }
    for (std::size_t c = 0; c < scheduled.loop.carries.size(); ++c) {
      const Slot& slot = loop.body->slots[loop.body->results[c]];
      add(slot, 1);
      add(slot, 1);
      if (!scheduled.loop.carries[c].is_stacked) continue;
      add(slot, kSteps);
      numbers_.push_back(static_cast<std::int64_t>(memory_.back().size()) / kSteps);
    }
    for (Bytes& bytes : memory_) {
      addresses_.push_back(reinterpret_cast<kiln::test::LoopAddress>(bytes.data()));
      pointers_.push_back(bytes.data());
    }
  }

  const std::vector<Bytes>& contents() const { return memory_; }
  const CallBlock& block() const { return block_; }

  void run_loop(ThreadOrder order) { run_.run(call(order)); }

  void run_loop_text(const kiln::test::EmulatedKernels& text, ThreadOrder order) {
    const RowLoop& loop = scheduled_.loop;
    const std::int64_t rows = value_of(loop_.fusion->division.rows);
    text.run(loop.name, {.operands = pointers_.data(),
                         .sizes = numbers_.data(),
                         .grid = {.points = rows,
                                  .blocks = std::min<std::int64_t>(3, blocks()),
                                  .threads = loop.threads,
                                  .part_points = kSteps},
                         .step = 7,
                         .call = &block_,
                         .order = order,
                         .is_in_bounds = [this](const std::byte* first, std::size_t bytes) {
                           return is_in_bounds(first, bytes);
                         }});
  }

  /// Runs each step of each iteration by launch(kernel, operands, step).
  template <class Launch>
  void run_steps(const BuiltKernels& kernels, const Launch& launch) {
    const kiln::test::RowLoopCall own = call(ThreadOrder::Ascending);
    std::vector<std::array<Bytes, 2>> local(scheduled_.slots.size());
    for (std::size_t i = 0; i < local.size(); ++i) {
      const Slot& slot = loop_.body->slots[scheduled_.slots[i]];
      local[i].fill(Bytes(at(bytes_of(slot)), std::byte{0xff}));
    }
    std::vector<std::array<Bytes, 2>> carries;
    for (std::size_t c = 0; c < scheduled_.loop.carries.size(); ++c) {
      const std::int64_t bytes = bytes_of(loop_.body->slots[loop_.body->results[c]]);
      carries.push_back({Bytes(at(bytes)), Bytes(at(bytes))});
    }
    std::int32_t number = own.step;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      const auto address = [&](SlotId slot) -> std::byte* {
        const auto found = std::find(scheduled_.slots.begin(), scheduled_.slots.end(), slot);
        const auto tensor = static_cast<std::size_t>(found - scheduled_.slots.begin());
        const RowLoopTensor& one = scheduled_.loop.tensors[tensor];
        const auto global = run_.global_address(static_cast<int>(tensor), t, own);
        if (global) return reinterpret_cast<std::byte*>(*global);
        if (one.kind == RowLoopTensor::Kind::Temporary) return local[tensor][0].data();
        const bool is_next = one.kind == RowLoopTensor::Kind::NextCarry;
        return carries[at(one.carry)][at((is_next ? t : t + 1) % 2)].data();
      };
      for (const Step& step : loop_.body->steps) {
        if (const auto* copy = std::get_if<CopyStep>(&step)) {
          std::memcpy(address(copy->to), address(copy->from),
                      at(bytes_of(loop_.body->slots[copy->to])));
          continue;
        }
        const auto& kernel = std::get<KernelStep>(step);
        std::vector<std::byte*> operands;
        for (const SlotId slot : kernel.slots) operands.push_back(address(slot));
        launch(kernels[kernel.kernel].kernel, operands, number++, block_);
      }
    }
  }

 private:
  static std::int64_t bytes_of(const Slot& slot) {
    return value_of(ir::product(slot.dims)) * static_cast<std::int64_t>(dtype_bytes(slot.dtype));
  }
  void add(const Slot& slot, std::int64_t times) {
    memory_.push_back(numbers(slot.dtype, value_of(ir::product(slot.dims)) * times));
  }
  void set_steps() {
    for (std::int64_t t = 0; t < kSteps; ++t) {
      std::memcpy(memory_.back().data() + t * 8, &t, sizeof(t));
    }
  }
  std::int64_t blocks() const {
    const std::int64_t rows = value_of(loop_.fusion->division.rows);
    return (rows + scheduled_.loop.rows - 1) / scheduled_.loop.rows;
  }
  kiln::test::RowLoopCall call(ThreadOrder order) {
    return {
        .pointers = addresses_.data(),
        .numbers = numbers_.data(),
        .to_host =
            [](kiln::test::LoopAddress address) { return reinterpret_cast<std::byte*>(address); },
        .rows = value_of(loop_.fusion->division.rows),
        .length = kSteps,
        .blocks = std::min<std::int64_t>(3, blocks()),
        .step = 7,
        .call = &block_,
        .order = order};
  }
  bool is_in_bounds(const std::byte* first, std::size_t bytes) const {
    return std::any_of(memory_.begin(), memory_.end(), [&](const Bytes& one) {
      return first >= one.data() && first + bytes <= one.data() + one.size();
    });
  }

  const LoopStep& loop_;
  const ScheduledLoop& scheduled_;
  const kiln::test::RowLoopRun run_;
  std::vector<Bytes> memory_;
  std::vector<std::int64_t> numbers_;
  std::vector<kiln::test::LoopAddress> addresses_;
  std::vector<std::byte*> pointers_;
  CallBlock block_;
};

/// Checks that both have found the same index out of range, and the same bytes if there is none.
void check_same(const LoopMemory& found, const LoopMemory& wanted) {
  const CallBlock &a = found.block(), &b = wanted.block();
  CHECK(a.access == b.access);
  CHECK(a.step == b.step);
  CHECK(a.point == b.point);
  CHECK(a.index == b.index);
  if (b.access < 0) CHECK((found.contents() == wanted.contents()));
}

void check_interpreted(const LoopStep& loop, const ScheduledLoop& scheduled,
                       const BuiltKernels& kernels, const GridDescription& device) {
  LoopMemory wanted(loop, scheduled);
  wanted.run_steps(kernels, [&](const Kernel& kernel, const std::vector<std::byte*>& operands,
                                std::int32_t step, CallBlock& block) {
    const GridSchedule schedule = schedule_grid(kernel, device);
    const GridLaunch launch = launch_of(kernel, schedule, device, value_of);
    kiln::test::GridKernel(kernel, schedule)
        .run({.buffers = operands.data(),
              .points = launch.points,
              .blocks = launch.blocks,
              .step = step,
              .call = &block});
  });
  for (const ThreadOrder order : kiln::test::kThreadOrders) {
    LoopMemory found(loop, scheduled);
    found.run_loop(order);
    check_same(found, wanted);
  }
}

void check_text(const LoopStep& loop, const ScheduledLoop& scheduled, const BuiltKernels& kernels,
                const GridDescription& device) {
  std::vector<const Kernel*> own;
  std::vector<GridSchedule> schedules;
  for (const Step& step : loop.body->steps) {
    const auto* kernel = std::get_if<KernelStep>(&step);
    if (kernel) own.push_back(&kernels[kernel->kernel].kernel);
  }
  for (const Kernel* kernel : own) schedules.push_back(schedule_grid(*kernel, device));
  std::vector<ScheduledKernel> launched;
  for (std::size_t i = 0; i < own.size(); ++i) launched.push_back({*own[i], schedules[i]});
  const kiln::test::EmulatedKernels text(launched, {&scheduled.loop, 1});
  LoopMemory wanted(loop, scheduled);
  wanted.run_steps(kernels, [&](const Kernel& kernel, const std::vector<std::byte*>& operands,
                                std::int32_t step, CallBlock& block) {
    const GridSchedule schedule = schedule_grid(kernel, device);
    text.run(kernel.name, {.operands = operands.data(),
                           .grid = launch_of(kernel, schedule, device, value_of),
                           .step = step,
                           .call = &block,
                           .is_in_bounds = [](const std::byte*, std::size_t) { return true; }});
  });
  for (const ThreadOrder order : kiln::test::kThreadOrders) {
    LoopMemory found(loop, scheduled);
    found.run_loop_text(text, order);
    check_same(found, wanted);
  }
}

}  // namespace

int check_row_loops(const Program& program, const GridDescription& device, bool as_text) {
  IdVector<KernelId, GridSchedule> schedules;
  for (const BuiltKernel& built : program.kernels) {
    schedules.push_back(schedule_grid(built.kernel, device));
  }
  int loops = 0;
  for (const LoopStep* loop : fused_loops(program.plan)) {
    const ScheduledLoop scheduled =
        schedule_row_loop(*loop, program.kernels, schedules, device, text("loop", loops));
    if (!scheduled.reason.empty()) continue;
    ++loops;
    const std::string whole = kiln::test::print_whole(scheduled.loop);
    INFO(whole);
    verify(scheduled.loop, device);
    CHECK(kiln::test::print_whole(kiln::test::parse_row_loop(whole)) == whole);
    if (!is_static(*loop, scheduled)) continue;
    check_interpreted(*loop, scheduled, program.kernels, device);
    if (as_text) check_text(*loop, scheduled, program.kernels, device);
  }
  return loops;
}

}  // namespace kiln::testing
