// Executes instructions: one run_step() per kind of step. Kernels, groups of rows and the final
// region are divided into parts of fixed sizes, which the host's threads take.
#include "backends/codegen/host/run.h"

#include "backends/abi/kiln_backend_trace.h"
#include "backends/codegen/bind/step_failure.h"
#include "backends/codegen/host/run_attention.h"
#include "backends/codegen/host/run_host_call.h"
#include "backends/codegen/host/run_library_steps.h"
#include "backends/codegen/host/run_row_updates.h"
#include "backends/codegen/step_trace.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstring>

namespace kiln::codegen {
namespace {

class Runner {
 public:
  Runner(ExecutionList& list, const RunContext& context) : list_(list), context_(context) {}

  void run() {
    const std::size_t count = list_.instructions.size();
    if (context_.timed) list_.times.resize(count + 1);
    if (list_.region.empty()) return run(list_.cached_end, count);
    run(list_.cached_end, list_.region_begin);
    timed(count, [&] { run_region(); });
    run(list_.region_end, count);
  }

  /// Runs a group of cached steps.
  void run_group_of_cached(std::size_t group) {
    if (context_.timed) list_.times.resize(list_.instructions.size() + 1);
    run(group == 0 ? 0 : list_.group_ends[group - 1], list_.group_ends[group]);
  }

 private:
  void run(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      timed(i, [&] { run_one(list_.instructions[i]); });
    }
  }

  template <class Work>
  void timed(std::size_t i, const Work& work) {
    if (!context_.timed && context_.trace == nullptr) return work();
    const Clock::time_point start = Clock::now();
    work();
    const Clock::time_point end = Clock::now();
    if (context_.timed) list_.times[i].add(std::chrono::duration<double>(end - start).count());
    if (context_.trace) trace(i, start, end);
  }

  void trace(std::size_t i, Clock::time_point begin, Clock::time_point end) {
    const std::vector<Step>& steps = list_.plan->plan->steps;
    const bool is_step = i < list_.instructions.size();
    const auto row = is_step ? list_.instructions[i].step - steps.data() : std::ssize(steps);
    context_.trace->add({list_.plan->plan, at(row), sdk::thread_number(), begin, end});
  }

  void run_one(Instruction& instruction) {
    std::visit([&](const auto& bound) { run_step(instruction, bound); }, *instruction.bound);
  }

  /// Runs independent kernels in one dispatch. REQUIRES: they cannot fail (plan/find_region.h).
  void run_region() {
    const List<RegionPart>& parts = list_.region;
    context_.host->parallel_for(parts.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context_.mode);
      IndexOutOfRange unused;
      for (std::uint64_t i = begin; i < end; ++i) {
        const Instruction& instruction = list_.instructions[parts[i].instruction];
        KernelArguments arguments = instruction.arguments;
        arguments.begin = parts[i].begin;
        while (i + 1 < end && parts[i + 1].instruction == parts[i].instruction) ++i;
        arguments.end = parts[i].end;
        arguments.out_of_range = &unused;
        arguments.seed = context_.seed;
        arguments.call_counter = context_.call_counter;
        const KernelFunction& function = std::get<BoundKernel>(*instruction.bound).function;
        function.run(function.context, &arguments);
      }
    });
  }

  void run_step(Instruction& instruction, const BoundKernel& bound) {
    if (bound.empty_axis) throw empty_axis_failure(*context_.module, *bound.empty_axis);
    IndexOutOfRange first;
    KernelArguments& arguments = instruction.arguments;
    arguments.out_of_range = &first;
    arguments.seed = context_.seed;
    arguments.call_counter = context_.call_counter;
    if (bound.parallel) {
      run_parts(bound, arguments, first);
    } else {
      bound.function.run(bound.function.context, &arguments);
    }
    if (first.access < 0) return;
    throw index_failure(*context_.module, *context_.program,
                        std::get<KernelStep>(*instruction.step), first.access, first.index,
                        first.limit);
  }

  /// Runs parts of `grain` indices along axis 0 in parallel. The index out of range of the lowest
  /// part is reported, whatever the order in which parts run.
  void run_parts(const BoundKernel& bound, const KernelArguments& whole, IndexOutOfRange& first) {
    const std::int64_t parts = (bound.range + bound.grain - 1) / bound.grain;
    std::mutex mutex;  // of failed_part and first
    std::int64_t failed_part = parts;
    context_.host->parallel_for(
        static_cast<std::uint64_t>(parts), [&](std::uint64_t begin, std::uint64_t end) {
          const ScopedThreadMode mode(context_.mode);
          IndexOutOfRange own;
          KernelArguments arguments = whole;
          arguments.begin = static_cast<std::int64_t>(begin) * bound.grain;
          arguments.end = std::min(static_cast<std::int64_t>(end) * bound.grain, bound.range);
          arguments.out_of_range = &own;
          bound.function.run(bound.function.context, &arguments);
          if (own.access < 0) return;
          const std::lock_guard lock(mutex);
          if (arguments.begin >= failed_part * bound.grain) return;
          failed_part = static_cast<std::int64_t>(begin);
          first = own;
        });
  }

  void run_step(const Instruction& instruction, const BoundMatmul& bound) {
    run_matmul(std::get<MatmulStep>(*instruction.step), bound, list_, context_);
  }

  void run_step(const Instruction& instruction, const BoundConvolution& bound) {
    run_convolution(std::get<ConvolutionStep>(*instruction.step), bound, list_, context_);
  }

  // ---- loops ----

  void run_step(Instruction& instruction, const PtrIn<BoundLoop>& loop) {
    const BoundLoop& bound = *loop;
    const auto& step = std::get<LoopStep>(*instruction.step);
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    const bool may_end = step.node->op == ir::Op::While;
    if (bound.length == 0 || (may_end && !is_true(list_, step.operands[at(attrs.consts)]))) {
      for (std::size_t i = 0; i < at(attrs.carry); ++i) {
        copy(step.results[i], step.operands[at(attrs.consts) + i]);
      }
      return;
    }
    for (ExecutionList& body : instruction.bodies) {
      require_bound(body);
      start_loop(step, bound, body);
    }
    pack_operands(instruction);
    copy_ends(bound.first_copies);
    run_groups(step, bound, instruction.bodies);
    copy_ends(bound.last_copies);
  }

  void run_groups(const LoopStep& step, const BoundLoop& bound, List<ExecutionList>& groups) {
    if (groups.size() == 1) return run_group(step, bound, groups[0]);
    context_.host->parallel_for(groups.size(), [&](std::uint64_t begin, std::uint64_t end) {
      const ScopedThreadMode mode(context_.mode);
      for (std::uint64_t group = begin; group < end; ++group) {
        run_group(step, bound, groups[group]);
      }
    });
  }

  void copy_ends(const List<LoopEndCopy>& copies) {
    for (const LoopEndCopy& one : copies) {
      if (one.bytes == 0) continue;
      std::memcpy(list_.slot(one.to) + one.to_offset, list_.slot(one.from) + one.from_offset,
                  at(one.bytes));
    }
  }

  /// Throws if the body cannot be bound to the sizes of this call (BoundPlan::failure).
  static void require_bound(const ExecutionList& body) {
    const std::optional<BindFailure>& failure = body.plan->failure;
    if (failure) throw sdk::Failure(failure->code, failure->text);
  }

  static void set_argument(ExecutionList& body, std::size_t argument, std::byte* address) {
    const SlotId slot = body.plan->plan->arguments[argument];
    if (slot) body.set_address(slot, address);
  }

  /// Sets the addresses of the body's arguments and results for the first iteration.
  void start_loop(const LoopStep& step, const BoundLoop& bound, ExecutionList& body) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    const auto carries = at(attrs.carry), consts = at(attrs.consts);
    const std::int64_t t = attrs.reverse ? bound.length - 1 : 0;
    body.step_number = t;
    set_argument(body, 0, reinterpret_cast<std::byte*>(&body.step_number));
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const std::int64_t offset =
          i < consts + carries ? 0 : t * bound.slice_bytes[i - consts - carries];
      set_argument(body, 1 + i, list_.slot(step.operands[i]) + offset);
    }
    const std::size_t xs = step.operands.size() - consts - carries;
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      std::byte* address = list_.slot(step.results[i]);
      if (i >= carries) address += t * bound.slice_bytes[xs + i - carries];
      body.set_address(body.plan->plan->results[i], address);
    }
    for (const CarryStacks& stacks : step.carry_stacks) {
      const LoopCarry& carry = bound.carries[at(stacks.carry)];
      if (stacks.before < 0) continue;
      body.set_address(carry.argument, body.slot(body.plan->plan->results[at(stacks.before)]));
    }
    for (const LoopCarry& carry : bound.carries) set_carry_result(step, bound, carry, body, 0);
  }

  /// Sets the address to which iteration `done` writes the carry. A carry with a stack is written
  /// to the next element of the stack. Another one is double-buffered: iterations alternate between
  /// the loop's result and the spare buffer, so that the last iteration writes the result.
  void set_carry_result(const LoopStep& step, const BoundLoop& bound, const LoopCarry& carry,
                        ExecutionList& body, std::int64_t done) {
    const std::int64_t left = bound.length - 1 - done;
    std::byte* address = list_.slot(step.results[carry.number]);
    if (carry.stack) {
      if (left > 0 || carry.ends_in_stack) address = body.slot(carry.stack) + carry.ahead;
    } else if (left % 2 != 0) {
      address = list_.arena + bound.spare_offsets[carry.number];
    }
    body.set_address(carry.result, address);
  }

  /// Packs the loop-invariant operands of the body's library calls that are no weights.
  void pack_operands(const Instruction& instruction) {
    const auto& step = std::get<LoopStep>(*instruction.step);
    const ExecutionList& body = instruction.bodies[0];
    const List<Packing>& packings = body.plan->packings;
    for (std::size_t i = 0; i < packings.size(); ++i) {
      if (packings[i].offset < 0) continue;
      const SlotId source = packed_operand(step, packings[i]);
      pack(*body.plan, packings[i], list_.slot(source), body.packed[i], context_);
    }
  }

  /// Runs all iterations for one group of rows.
  void run_group(const LoopStep& step, const BoundLoop& bound, ExecutionList& body) {
    Runner runner(body, context_);
    runner.run();
    const bool may_end = step.node->op == ir::Op::While;
    for (std::int64_t done = 1; done < bound.length; ++done) {
      if (may_end && !is_true(body, bound.carries[0].result)) {
        return copy_carries(step, bound, body);
      }
      advance(step, bound, body, done);
      runner.run();
    }
  }

  static bool is_true(const ExecutionList& list, SlotId slot) {
    return *list.slot(slot) != std::byte{0};
  }

  /// Copies carries that the last iteration wrote to their spare buffers to the loop's results.
  void copy_carries(const LoopStep& step, const BoundLoop& bound, ExecutionList& body) {
    for (const LoopCarry& carry : bound.carries) {
      const SlotId result = step.results[carry.number];
      const std::byte* const last = body.slot(carry.result);
      const std::int64_t bytes = list_.plan->sizes.bytes[result];
      if (bytes == 0 || last == list_.slot(result)) continue;
      std::memcpy(list_.slot(result), last, at(bytes));
    }
  }

  void advance(const LoopStep& step, const BoundLoop& bound, ExecutionList& body,
               std::int64_t done) {
    for (const LoopMove& move : bound.moves) {
      body.set_address(move.slot, body.slot(move.slot) + move.bytes);
    }
    body.step_number += bound.direction;
    for (const LoopCarry& carry : bound.carries) {
      if (carry.argument) body.set_address(carry.argument, body.slot(carry.result));
      set_carry_result(step, bound, carry, body, done);
    }
  }

  // ---- branches, host calls, row updates, attentions, copies ----

  void run_step(Instruction& instruction, const BoundBranch&) {
    const auto& step = std::get<BranchStep>(*instruction.step);
    const bool taken = *list_.slot(step.operands[0]) != std::byte{0};
    ExecutionList& body = instruction.bodies[taken ? 0 : 1];
    require_bound(body);
    for (std::size_t i = 1; i < step.operands.size(); ++i) {
      set_argument(body, i - 1, list_.slot(step.operands[i]));
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      body.set_address(body.plan->plan->results[i], list_.slot(step.results[i]));
    }
    Runner(body, context_).run();
  }

  void run_step(const Instruction& instruction, const BoundHostCall&) {
    run_host_call(std::get<HostCallStep>(*instruction.step), list_, context_);
  }

  void run_step(const Instruction& instruction, const BoundRowUpdates& bound) {
    run_row_updates(std::get<RowUpdateStep>(*instruction.step), bound, list_, context_);
  }

  void run_step(const Instruction& instruction, const BoundAttention& bound) {
    run_attention(std::get<AttentionStep>(*instruction.step), bound, list_, context_);
  }

  void run_step(const Instruction& instruction, const BoundCopy& bound) {
    const auto& step = std::get<CopyStep>(*instruction.step);
    std::memcpy(list_.slot(step.to) + bound.begin, list_.slot(step.from) + bound.begin,
                at(bound.bytes));
  }

  void copy(SlotId to, SlotId from) {
    const std::int64_t bytes = list_.plan->sizes.bytes[to];
    if (bytes != 0) std::memcpy(list_.slot(to), list_.slot(from), at(bytes));
  }

  ExecutionList& list_;
  const RunContext& context_;
};

/// Holds the weights of a run: sets their addresses, and makes those that no call has made yet.
class WeightHolder {
 public:
  WeightHolder(CallMemory& memory, const RunContext& context)
      : weights_(*context.weights), held_(memory.weights), list_(memory.list()), context_(context) {
    weights_.hold(*list_.plan, list_.versions, held_);
    try {
      for (std::size_t i = 0; i < held_.copies.size(); ++i) {
        provide(list_.plan->weights[i], *held_.copies[i]);
      }
    } catch (...) {
      weights_.release(held_);
      throw;
    }
  }
  ~WeightHolder() { weights_.release(held_); }
  WeightHolder(const WeightHolder&) = delete;
  WeightHolder& operator=(const WeightHolder&) = delete;

 private:
  void provide(const BoundWeight& weight, WeightCopy& copy) {
    if (copy.is_made.load(std::memory_order_acquire)) return set_address(weight, copy);
    const std::lock_guard lock(copy.making);
    if (!copy.is_made && !copy.memory) allocate(weight, copy);
    set_address(weight, copy);
    if (copy.is_made) return;
    make(weight, copy);
    copy.is_made.store(true, std::memory_order_release);
  }

  void allocate(const BoundWeight& weight, WeightCopy& copy) const {
    copy.memory = allocate_aligned(weight.form->bytes);
    if (copy.memory) return;
    throw_no_memory(weight.form->bytes, "packed operands and cached tensors", *list_.plan);
  }

  void set_address(const BoundWeight& weight, const WeightCopy& copy) {
    if (weight.slot) {
      packed_of(weight) = copy.memory.get();
      return;
    }
    for (const SlotId slot : group_of(weight).slots) {
      std::byte* const address = copy.memory.get() + list_.plan->cached_offsets[slot];
      if (list_.slot(slot) != address) list_.set_address(slot, address);
    }
  }

  void make(const BoundWeight& weight, const WeightCopy& copy) {
    if (!weight.slot) return Runner(list_, context_).run_group_of_cached(at(weight.group));
    const BoundPlan& plan = *list_of(weight).plan;
    pack(plan, plan.packings[at(weight.packing)], list_.slot(weight.slot), copy.memory.get(),
         context_);
  }

  const CachedGroup& group_of(const BoundWeight& weight) const {
    return list_.plan->facts->cached.groups[at(weight.group)];
  }

  /// The list of the plan that has the packing: the program's, or the body's of a loop.
  ExecutionList& list_of(const BoundWeight& weight) {
    if (weight.loop < 0) return list_;
    const BoundStep* const step = &list_.plan->steps[at(weight.loop)];
    const auto loop = std::find_if(list_.instructions.begin(), list_.instructions.end(),
                                   [&](const Instruction& one) { return one.bound == step; });
    return loop->bodies[0];
  }
  std::byte*& packed_of(const BoundWeight& weight) {
    return list_of(weight).packed[at(weight.packing)];
  }

  SharedWeights& weights_;
  HeldWeights& held_;
  ExecutionList& list_;
  const RunContext& context_;
};

}  // namespace

void run_plan(CallMemory& memory, const RunContext& context) {
  const ScopedThreadMode mode(context.mode);
  ExecutionList& list = memory.list();
  if (list.plan->weights.empty()) return Runner(list, context).run();
  const WeightHolder weights(memory, context);
  Runner(list, context).run();
}

}  // namespace kiln::codegen
