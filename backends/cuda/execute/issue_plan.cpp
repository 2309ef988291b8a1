// Queues each kind of step in one overload of PlanIssuer::issue.
#include "backends/cuda/execute/issue_plan.h"

#include "backends/codegen/bind/step_failure.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/body_addresses.h"
#include "backends/cuda/execute/issue_attention.h"
#include "backends/cuda/execute/issue_convolution.h"
#include "backends/cuda/execute/issue_half_attention.h"
#include "backends/cuda/execute/issue_matmul.h"
#include "backends/cuda/execute/launch_row_loop.h"
#include "core/types/at.h"

#include <cstddef>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;
using api::DeviceAddress;

/// Disables graphs in its scope: steps are queued one by one.
class ScopedWithoutGraphs {
 public:
  explicit ScopedWithoutGraphs(CallContext& call)
      : call_(call), before_(std::exchange(call.segments, nullptr)) {}
  ~ScopedWithoutGraphs() { call_.segments = before_; }
  ScopedWithoutGraphs(const ScopedWithoutGraphs&) = delete;
  ScopedWithoutGraphs& operator=(const ScopedWithoutGraphs&) = delete;

 private:
  CallContext& call_;
  SegmentIssuer* before_;
};

class PlanIssuer {
 public:
  /// `first_launch`: the number of the plan's first launch among those of the call.
  PlanIssuer(const DevicePlan& plan, DeviceAddress arena, SlotAddresses& slots, CallContext& call,
             std::int64_t first_launch)
      : plan_(plan), arena_(arena), slots_(slots), call_(call), first_launch_(first_launch) {}

  void run() {
    for (const Segment& segment : plan_.segments) {
      const auto queue = [&] { queue_steps(segment); };
      if (call_.segments != nullptr && segment.has_graph) {
        call_.segments->issue(segment, call_, queue);
      } else {
        queue();
      }
    }
  }

  void queue_step(std::size_t s) {
    if (call_.between_steps) call_.between_steps(call_.operations);
    launch_ = first_launch_ + plan_.first_launches[s];
    if (call_.timer != nullptr) call_.timer->begin(*plan_.plan, s);
    std::visit([&](const auto& bound) { issue(plan_.plan->steps[s], bound); }, plan_.steps[s]);
    if (call_.timer != nullptr) call_.timer->end();
  }

 private:
  void queue_steps(const Segment& segment) {
    for (std::size_t s = segment.begin; s < segment.end; ++s) {
      if (const BatchedSteps* batched = batch_at(s, segment)) {
        queue(*batched);
        s = batched->end - 1;
        continue;
      }
      if (!plan_.cached->is_cached_step[s]) queue_step(s);
      if (&plan_ == &call_.plan) call_.queued_steps = s + 1;
    }
  }

  /// The batched steps that begin there; null: none. Steps that are timed are launched one by one.
  const BatchedSteps* batch_at(std::size_t step, const Segment& segment) const {
    if (call_.timer != nullptr) return nullptr;
    for (const BatchedSteps& one : plan_.batched) {
      if (one.begin == step && one.end <= segment.end) return &one;
    }
    return nullptr;
  }

  void queue(const BatchedSteps& batched) {
    for (const std::vector<std::size_t>& steps : batched.launches) {
      if (steps.size() == 1) {
        queue_step(steps[0]);
      } else {
        if (call_.between_steps) call_.between_steps(call_.operations);
        queue_batch(steps);
      }
      // A failure of a later launch comes after writes of any of the steps.
      call_.queued_steps = batched.end;
    }
  }

  void queue_batch(const std::vector<std::size_t>& steps) {
    std::vector<std::vector<DeviceAddress>> operands;
    std::vector<LaunchArguments> arguments;
    std::vector<BatchedLaunch> batch;
    arguments.reserve(steps.size());
    for (const std::size_t s : steps) {
      append_operands(std::get<KernelStep>(plan_.plan->steps[s]), operands.emplace_back());
      const std::int64_t number = first_launch_ + plan_.first_launches[s];
      arguments.push_back({.operands = operands.back(),
                           .number = static_cast<std::int32_t>(number),
                           .call_block = call_.call_block});
      batch.push_back({std::get<KernelLaunch>(plan_.steps[s]), arguments.back()});
    }
    ++call_.operations;
    launch_batch(call_.stream, batch, launch_memory_);
  }

  void append_operands(const KernelStep& kernel, std::vector<DeviceAddress>& to) {
    for (const SlotId operand : kernel.slots) to.push_back(slot(operand));
  }

  DeviceAddress& slot(SlotId id) { return slots_[id]; }
  std::int64_t bytes(SlotId slot) const { return plan_.sizes.bytes[slot]; }

  void copy(DeviceAddress to, DeviceAddress from, std::int64_t bytes) {
    if (bytes == 0) return;
    ++call_.operations;
    call_.stream.submit(
        [&] {
          return call_.device.driver().memcpy_device_to_device_async(to, from, at(bytes),
                                                                     call_.stream.handle());
        },
        "copy on the device");
  }

  // ---- kernels ----

  void issue(const Step& step, const KernelLaunch& launch) {
    if (launch.empty_axis) {
      finish_call(call_);
      throw empty_axis_failure(call_.lowered.module, *launch.empty_axis);
    }
    if (launch.grid.points == 0) return;
    const auto& kernel = std::get<KernelStep>(step);
    ++call_.operations;
    operands_.clear();
    append_operands(kernel, operands_);
    launch_kernel(call_.stream, launch,
                  {.operands = operands_,
                   .partials = offset_by(arena_, launch.partials),
                   .arrivals = call_.arrivals,
                   .number = static_cast<std::int32_t>(launch_),
                   .call_block = call_.call_block},
                  launch_memory_);
  }

  void issue(const Step& step, const DeviceMatmul& bound) {
    const auto& matmul = std::get<MatmulStep>(step);
    call_.operations += operations_of(bound);
    issue_matmul(matmul, bound,
                 {.stream = call_.stream,
                  .module = call_.lowered.module,
                  .slots = {.lhs = slot(matmul.lhs),
                            .rhs = slot(matmul.rhs),
                            .result = slot(matmul.result),
                            .bias = matmul.bias ? slot(matmul.bias) : 0,
                            .workspace = offset_by(arena_, bound.workspace)},
                  .result_bytes = bytes(matmul.result)});
  }

  void issue(const Step& step, const DeviceConvolution& bound) {
    const auto& convolution = std::get<ConvolutionStep>(step);
    call_.operations += operations_of(bound);
    issue_convolution(convolution, bound,
                      {.stream = call_.stream,
                       .module = call_.lowered.module,
                       .lhs = slot(convolution.lhs),
                       .rhs = slot(convolution.rhs),
                       .result = slot(convolution.result),
                       .workspace = offset_by(arena_, bound.workspace),
                       .result_bytes = bytes(convolution.result)});
  }

  void issue(const Step& step, const DeviceAttention& bound) {
    call_.operations += operations_of(bound);
    issue_attention(std::get<AttentionStep>(step), bound, call_.stream, slots_, plan_.sizes,
                    offset_by(arena_, bound.scratch));
  }

  void issue(const Step& step, const DeviceHalfAttention& bound) {
    call_.operations += operations_of(bound);
    issue_half_attention(std::get<AttentionStep>(step), bound,
                         {.stream = call_.stream,
                          .module = call_.lowered.module,
                          .slots = slots_,
                          .sizes = plan_.sizes,
                          .scratch = offset_by(arena_, bound.scratch)});
  }

  // ---- loops ----

  void issue(const Step& step, const DeviceLoop& bound) {
    const auto& loop = std::get<LoopStep>(step);
    const auto& attrs = loop.node->as<ir::ScanAttrs>();
    if (bound.loop.length == 0) return copy_initial_carries(loop);
    if (bound.ends_early) return issue_while(loop, bound);
    const DevicePlan& body = require_runnable(bound.body);
    const DeviceAddress body_arena = offset_by(arena_, bound.body.offset);
    SlotAddresses slots = fixed_addresses(body, body_arena, call_);
    const LoopAddresses addresses(loop, bound, slots_, arena_);
    addresses.start(slots);
    copy_ends(bound.loop.first_copies);
    if (bound.kernel) {
      issue_kernel(loop, bound, slots);
      return copy_ends(bound.loop.last_copies);
    }
    const ScopedWithoutGraphs without_graphs(call_);
    std::int64_t launch = launch_;
    std::int64_t t = attrs.reverse ? bound.loop.length - 1 : 0;
    for (std::int64_t done = 0; done < bound.loop.length; ++done, t += bound.loop.direction) {
      if (done > 0) addresses.advance(done, slots);
      constexpr std::int64_t kBytes = sizeof(std::int64_t);
      set_argument(body, 0, offset_by(call_.iteration_numbers, t * kBytes), slots);
      PlanIssuer(body, body_arena, slots, call_, launch).run();
      launch += body.launches;
    }
    copy_ends(bound.loop.last_copies);
  }

  /// `slots`: of the body's first iteration.
  void issue_kernel(const LoopStep& loop, const DeviceLoop& bound, SlotAddresses& slots) {
    if (bound.kernel->rows == 0) return;
    const auto& attrs = loop.node->as<ir::ScanAttrs>();
    const std::int64_t t = attrs.reverse ? bound.loop.length - 1 : 0;
    constexpr std::int64_t kBytes = sizeof(std::int64_t);
    set_argument(*bound.body.plan, 0, offset_by(call_.iteration_numbers, t * kBytes), slots);
    std::vector<DeviceAddress> results;
    for (const LoopCarry& carry : bound.loop.carries) {
      results.push_back(slot(loop.results[carry.number]));
    }
    ++call_.operations;
    launch_row_loop(call_.stream, *bound.kernel, bound.loop,
                    {.slots = slots,
                     .results = results,
                     .number = static_cast<std::int32_t>(launch_),
                     .call_block = call_.call_block},
                    launch_memory_);
  }

  void copy_initial_carries(const LoopStep& loop) {
    const auto& attrs = loop.node->as<ir::ScanAttrs>();
    for (std::size_t i = 0; i < at(attrs.carry); ++i) {
      const SlotId result = loop.results[i];
      copy(slot(result), slot(loop.operands[at(attrs.consts) + i]), bytes(result));
    }
  }

  /// Queues and finishes one iteration after the other. All have the same numbers of launches.
  void issue_while(const LoopStep& loop, const DeviceLoop& bound) {
    const auto consts = at(loop.node->as<ir::ScanAttrs>().consts);
    if (!finish_and_read(slot(loop.operands[consts]))) return copy_initial_carries(loop);
    const DevicePlan& body = require_runnable(bound.body);
    const DeviceAddress body_arena = offset_by(arena_, bound.body.offset);
    const DeviceAddress number = offset_by(arena_, bound.step_number);
    SlotAddresses slots = fixed_addresses(body, body_arena, call_);
    const LoopAddresses addresses(loop, bound, slots_, arena_);
    addresses.start(slots);
    set_argument(body, 0, number, slots);
    const ScopedWithoutGraphs without_graphs(call_);
    for (std::int64_t done = 0;; ++done) {
      if (done > 0) addresses.advance(done, slots);
      call_.staging.upload(number, &done, sizeof(done));
      PlanIssuer(body, body_arena, slots, call_, launch_).run();
      if (done == bound.loop.length - 1) return;
      if (!finish_and_read(slots[bound.loop.carries[0].result])) break;
    }
    for (const LoopCarry& carry : bound.loop.carries) {
      const SlotId result = loop.results[carry.number];
      const DeviceAddress last = slots[carry.result];
      if (last != slot(result)) copy(slot(result), last, bytes(result));
    }
  }

  /// Waits for what is queued, and reads a bool scalar.
  bool finish_and_read(DeviceAddress where) {
    std::byte value{};
    call_.staging.download(&value, where, 1);
    finish_call(call_);
    return value != std::byte{0};
  }

  void copy_ends(const List<LoopEndCopy>& copies) {
    for (const LoopEndCopy& one : copies) {
      copy(offset_by(slot(one.to), one.to_offset), offset_by(slot(one.from), one.from_offset),
           one.bytes);
    }
  }

  /// Returns the body's plan. Throws its failure if it cannot run with the sizes of this call.
  const DevicePlan& require_runnable(const DeviceBody& body) {
    if (!body.plan->failure) return *body.plan;
    finish_call(call_);
    throw sdk::Failure(body.plan->failure->code, body.plan->failure->text);
  }

  // ---- branches, host calls, copies ----

  void issue(const Step& step, const DeviceBranch& bound) {
    const auto& branch = std::get<BranchStep>(step);
    const bool is_second = !finish_and_read(slot(branch.operands[0]));
    const DeviceBody& taken = bound.bodies[is_second ? 1 : 0];
    const DevicePlan& body = require_runnable(taken);
    const DeviceAddress body_arena = offset_by(arena_, taken.offset);
    SlotAddresses slots = fixed_addresses(body, body_arena, call_);
    for (std::size_t i = 1; i < branch.operands.size(); ++i) {
      set_argument(body, i - 1, slot(branch.operands[i]), slots);
    }
    for (std::size_t i = 0; i < branch.results.size(); ++i) {
      slots[body.plan->results[i]] = slot(branch.results[i]);
    }
    const std::int64_t first = is_second ? bound.bodies[0].plan->launches : 0;
    PlanIssuer(body, body_arena, slots, call_, launch_ + first).run();
  }

  void issue(const Step& step, const DeviceHostCall&) {
    const auto& call = std::get<HostCallStep>(step);
    const auto& attrs = call.node->as<ir::HostCallAttrs>();
    std::vector<SlotId> read = call.operands;
    if (!read.empty()) read.erase(read.begin());  // the position
    std::vector<std::vector<std::byte>> inputs = host_memory(read);
    std::vector<std::vector<std::byte>> outputs = host_memory(call.results);
    for (std::size_t i = 0; i < read.size(); ++i) {
      call_.staging.download(inputs[i].data(), slot(read[i]), bytes(read[i]));
    }
    finish_call(call_);
    const auto* payload = reinterpret_cast<const std::byte*>(attrs.payload.data());
    try {
      call_.host.host_call(call_.host_call_context, attrs.function, {payload, attrs.payload.size()},
                           views(read, inputs), views(call.results, outputs));
    } catch (const sdk::Failure& failure) {
      throw step_failure(call_.lowered.module, *call.node, failure.code(), failure.what());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      call_.staging.upload(slot(call.results[i]), outputs[i].data(), bytes(call.results[i]));
    }
  }

  void issue(const Step& step, const DeviceCollectiveStart& start) {
    const std::vector<SlotId>& operands = plan_.collectives[start.number].operands;
    with_step(step, [&] { call_.collectives->start(start.number, tensors(operands)); });
  }

  void issue(const Step& step, const DeviceCollectiveWait& wait) {
    const std::vector<SlotId>& results = std::get<HostCallStep>(step).results;
    with_step(step, [&] { call_.collectives->copy_results(wait.number, tensors(results)); });
  }

  /// Adds the op and the line of the step to a failure of `work`.
  template <class Work>
  void with_step(const Step& step, const Work& work) const {
    try {
      work();
    } catch (const sdk::Failure& failure) {
      throw step_failure(call_.lowered.module, *std::get<HostCallStep>(step).node, failure.code(),
                         failure.what())
          .native(failure.native_library, failure.native_code);
    }
  }

  std::vector<TensorBytes> tensors(const std::vector<SlotId>& numbers) {
    std::vector<TensorBytes> list;
    for (const SlotId number : numbers) list.push_back({slot(number), bytes(number)});
    return list;
  }

  std::vector<std::vector<std::byte>> host_memory(const std::vector<SlotId>& numbers) const {
    std::vector<std::vector<std::byte>> memory;
    for (const SlotId number : numbers) memory.emplace_back(at(bytes(number)));
    return memory;
  }

  std::vector<kiln_view> views(const std::vector<SlotId>& numbers,
                               std::vector<std::vector<std::byte>>& memory) const {
    std::vector<kiln_view> list;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto dtype = static_cast<std::uint32_t>(plan_.plan->slots[numbers[i]].dtype);
      list.push_back(sdk::view(dtype, plan_.sizes.dims(numbers[i]), memory[i].data()));
    }
    return list;
  }

  void issue(const Step& step, const DeviceCopy&) {
    const auto& one = std::get<CopyStep>(step);
    copy(slot(one.to), slot(one.from), bytes(one.to));
  }

  const DevicePlan& plan_;
  DeviceAddress arena_;
  SlotAddresses& slots_;
  CallContext& call_;
  std::int64_t first_launch_;  // the first launch of the plan
  std::int64_t launch_ = 0;  // the first launch of the step being queued
  std::vector<DeviceAddress> operands_;  // of a launch
  LaunchMemory launch_memory_;
};

}  // namespace

SlotAddresses fixed_addresses(const DevicePlan& plan, DeviceAddress arena,
                              const CallContext& call) {
  const IdVector<SlotId, Slot>& slots = plan.plan->slots;
  SlotAddresses addresses(slots.size(), 0);
  for (const SlotId i : slots.ids()) {
    if (plan.sizes.bytes[i] == 0) continue;
    if (const auto* constant = std::get_if<ConstantSlot>(&slots[i].kind)) {
      addresses[i] = call.constants.at(constant->bytes.get());
    }
    if (plan.arena.offsets[i] >= 0) addresses[i] = offset_by(arena, plan.arena.offsets[i]);
  }
  return addresses;
}

void issue_plan(DeviceAddress arena, SlotAddresses& slots, CallContext& call) {
  PlanIssuer(call.plan, arena, slots, call, 0).run();
}

void issue_cached_steps(const CachedGroup& group, DeviceAddress arena, SlotAddresses& slots,
                        CallContext& call) {
  PlanIssuer issuer(call.plan, arena, slots, call, 0);
  for (const int step : group.steps) issuer.queue_step(at(step));
}

void finish_call(CallContext& call) {
  CallBlock block;
  if (call.records_indices) call.staging.download(&block, call.call_block, sizeof(block));
  call.staging.finish();
  if (block.access < 0) return;
  throw index_failure(call.lowered.module, call.lowered.program,
                      kernel_of_launch(call.plan, block.step), block.access, block.index,
                      block.limit);
}

}  // namespace kiln::cuda
