// Uploads inputs, queues the plan's steps, downloads outputs, and synchronizes once.
#include "backends/cuda/execute/call_memory.h"

#include "backends/codegen/text/grid_text.h"
#include "backends/cuda/device/device_address.h"
#include "backends/cuda/execute/device_cost.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

namespace kiln::cuda {
namespace {

using namespace codegen;

bool aliases_argument(const CallTensor& result, const CallTensors& tensors) {
  return result.device != 0 &&
         std::any_of(tensors.arguments.begin(), tensors.arguments.end(),
                     [&](const CallTensor& one) { return one.device == result.device; });
}

/// Whether a kernel of the plan that uses the slot was launched. Kernels of bodies, and other kinds
/// of steps, never write a result to the buffer of an argument (buffer_aliasing.h).
bool was_launched(SlotId slot, const CallContext& call) {
  for (std::size_t s = 0; s < call.queued_steps; ++s) {
    const auto* kernel = std::get_if<KernelStep>(&call.plan.plan->steps[s]);
    if (kernel == nullptr || std::get<KernelLaunch>(call.plan.steps[s]).grid.points == 0) continue;
    const auto& slots = kernel->slots;
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) return true;
  }
  return false;
}

/// Whether a kernel was launched that writes a result to the buffer of an argument.
bool overwrites_arguments(const CallTensors& tensors, const CallContext& call) {
  for (std::size_t i = 0; i < tensors.results.size(); ++i) {
    if (!aliases_argument(tensors.results[i], tensors)) continue;
    if (was_launched(call.plan.plan->results[i], call)) return true;
  }
  return false;
}

/// Calls copy(), which queues copies, and traces them if the call is traced.
template <class Copy>
void trace_copies(StepTimer* timer, std::size_t copies, const Copy& copy) {
  if (timer == nullptr || !timer->is_traced()) return copy();
  timer->begin_copies(copies);
  copy();
  timer->end();
}

/// The largest tensors, and the bytes of collectives.
std::string largest_parts(const DevicePlan& plan) {
  const std::string tensors = largest_tensors(memory_of(plan));
  if (plan.collective_bytes == 0) return tensors;
  return tensors + text("; ", plan.collective_bytes, " bytes of collectives");
}

/// Ends the device, since variables may be partly overwritten, and throws DATA_LOSS.
[[noreturn]] void throw_data_loss(const Device& device, const sdk::Failure& reason) {
  const std::string text = reason.what();
  const sdk::Failure failure =
      sdk::Failure(KILN_CODE_DATA_LOSS, text + "; overwritten variables are lost")
          .native(reason.native_library, reason.native_code);
  device.end(failure);
  throw failure;
}

}  // namespace

CallBlockUse call_block_use(const BuiltKernels& kernels) {
  CallBlockUse use;
  for (const BuiltKernel& built : kernels) {
    for (const Expression& one : built.kernel.expressions) {
      use.reads_seed = use.reads_seed || one.kind == ExpressionKind::Random;
    }
    for (const Access& access : built.kernel.accesses) {
      use.records_indices = use.records_indices || access.dynamic;
    }
  }
  return use;
}

CallMemory::CallMemory(const DevicePlan& plan, const LoadedProgram& program, std::size_t inputs,
                       std::size_t outputs)
    : plan_(plan),
      layout_(lay_out(plan, inputs, outputs)),
      call_block_(program.resources.memory->allocate(sizeof(CallBlock),
                                                     "the seed and the index error of a call")),
      graphs_(program.resources.uses_graphs) {
  if (plan.longest_loop != 0) upload_iteration_numbers(program);
  if (plan.arrivals != 0) clear_arrivals(program);
}

CallMemory::Layout CallMemory::lay_out(const DevicePlan& plan, std::size_t inputs,
                                       std::size_t outputs) {
  Layout layout;
  std::int64_t end = 0;
  const auto add = [&](std::int64_t bytes) {
    const std::int64_t begin = end;
    if (bytes > INT64_MAX - 2 * kAlignment || __builtin_add_overflow(end, aligned(bytes), &end)) {
      throw SizeFailure(
          KILN_CODE_RESOURCE_EXHAUSTED,
          "the tensors of a call have more than 2^63 - 1 bytes" + largest_parts(plan));
    }
    return begin;
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    const SlotId slot = plan.plan->arguments[i];
    layout.inputs.push_back(add(slot ? plan.sizes.bytes[slot] : 0));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    layout.outputs.push_back(add(plan.sizes.bytes[plan.plan->results[i]]));
  }
  layout.temporaries = add(plan.arena.bytes);
  layout.collectives = add(plan.collective_bytes);
  layout.bytes = end;
  return layout;
}

/// Uploads 0, 1, ... up to the length of the longest loop.
void CallMemory::upload_iteration_numbers(const LoadedProgram& program) {
  const std::int64_t bytes = checked_product(plan_.longest_loop, sizeof(std::int64_t), nullptr);
  iteration_numbers_ = program.resources.memory->allocate(bytes, "loop counters");
  std::vector<std::int64_t> numbers(at(plan_.longest_loop));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  StreamLease lease(*program.resources.streams);
  lease.staging().upload(iteration_numbers_.address(), numbers.data(), bytes);
  lease.staging().finish();
}

/// Clears the arrival counters of split reductions (split_text.h) once. Each block of a launch
/// increments its counter atomically, with __threadfence() between its partial results and the
/// increment; the last block to arrive reads all partial results after another fence and resets the
/// counter to 0. No launch finds the counters of another one: launches of a stream or graph run in
/// order, concurrent calls have counters of their own, and a kernel that fails ends the device.
void CallMemory::clear_arrivals(const LoadedProgram& program) {
  const std::int64_t bytes = plan_.arrivals * std::int64_t{sizeof(std::uint32_t)};
  arrivals_ = program.resources.memory->allocate(bytes, "counters of blocks");
  StreamLease lease(*program.resources.streams);
  const Stream& stream = lease.stream();
  stream.submit(
      [&] {
        return stream.device().driver().memset_8_async(arrivals_.address(), 0, at(bytes),
                                                       stream.handle());
      },
      "clear counters");
  lease.staging().finish();
}

void CallMemory::grow(StreamArena& arena) const {
  try {
    arena.grow(layout_.bytes, plan_.collective_bytes == 0
                                  ? "inputs, outputs and temporary tensors"
                                  : "inputs, outputs, temporary tensors and collectives");
  } catch (const sdk::Failure& failure) {
    if (failure.code() != KILN_CODE_RESOURCE_EXHAUSTED) throw;
    throw sdk::Failure(failure.code(), failure.what() + largest_parts(plan_));
  }
}

api::DeviceAddress CallMemory::address(std::int64_t offset) const {
  return offset_by(arena_address_, offset);
}

/// Includes the generation of the arena: graphs captured before a release may address memory that
/// is unmapped now.
GraphKey CallMemory::key_of(const SlotAddresses& slots, const StreamArena& arena) const {
  GraphKey key{arena.address(), arena.generation()};
  for (const SlotId slot : plan_.given_slots) key.push_back(slots[slot]);
  return key;
}

/// The copies of the plan's cached tensors for the versions of the call's variables.
std::vector<HeldCopy> CallMemory::hold_cached(const LoadedProgram& program,
                                              CallTensors& tensors) const {
  if (plan_.cached_layouts.empty()) return {};
  std::vector<std::uint64_t> versions;
  for (const CachedGroup& group : plan_.cached->groups) {
    for (const SlotId slot : group.arguments) {
      const int argument = std::get<ArgumentSlot>(plan_.plan->slots[slot].kind).number;
      versions.push_back(tensors.arguments[at(argument)].version);
    }
  }
  return program.cached.hold(*program.resources.memory, plan_.cached_layouts, versions,
                             tensors.last_copies);
}

/// Sets the addresses of cached tensors, and queues the steps that compute new copies.
void CallMemory::provide_cached(const std::vector<HeldCopy>& held, SlotAddresses& slots,
                                CallContext& call) {
  for (std::size_t g = 0; g < held.size(); ++g) {
    const CachedGroup& group = plan_.cached->groups[g];
    for (std::size_t i = 0; i < group.slots.size(); ++i) {
      slots[group.slots[i]] =
          offset_by(held[g].copy->memory.address(), plan_.cached_layouts[g].offsets[i]);
    }
    if (!held[g].is_new) continue;
    issue_cached_steps(group, address(layout_.temporaries), slots, call);
  }
}

void CallMemory::run(const LoadedProgram& program, CallTensors& tensors) {
  const Clock::time_point start = Clock::now();
  // Outlives the lease, which waits for the work of a call that fails.
  const std::vector<HeldCopy> cached = hold_cached(program, tensors);
  StreamLease lease(*program.resources.streams, stream_);
  stream_ = lease.id();
  grow(lease.arena());
  arena_address_ = lease.arena().address();
  std::optional<StepTimer> timer;
  const bool is_timed = program.times.wanted(), is_traced = program.trace.is_wanted();
  const std::string track = is_traced ? text("cuda stream ", lease.number()) : "";
  if (is_timed || is_traced) {
    timer.emplace(lease.stream(), is_traced ? &program.trace : nullptr, track);
  }
  CallContext call{.plan = plan_,
                   .device = *program.resources.device,
                   .lowered = program.lowered,
                   .constants = program.constants,
                   .host = program.host,
                   .host_call_context = tensors.host_call_context,
                   .stream = lease.stream(),
                   .staging = lease.staging(),
                   .call_block = call_block_.address(),
                   .records_indices = program.call_block.records_indices,
                   .arrivals = arrivals_.address(),
                   .iteration_numbers = iteration_numbers_.address(),
                   .timer = timer ? &*timer : nullptr};
  upload_call_block(program, tensors, lease.staging());
  SlotAddresses slots = fixed_addresses(plan_, address(layout_.temporaries), call);
  std::optional<CollectiveRun> collectives;
  if (!plan_.collectives.empty()) {
    collectives.emplace(CollectiveRun::Call{.collectives = plan_.collectives,
                                            .communicators = *program.communicators,
                                            .host = program.host,
                                            .host_call_context = tensors.host_call_context,
                                            .stream = lease.stream(),
                                            .memory = address(layout_.collectives),
                                            .call_block = call_block_.address()});
    call.collectives = &*collectives;
  }
  trace_copies(call.timer, StepEvent::kCopyIn, [&] { bind_slots(tensors, slots, call); });
  try {
    provide_cached(cached, slots, call);
    run_steps(program, tensors, lease.arena(), slots, call);
  } catch (...) {
    if (collectives) collectives->drain();
    throw;
  }
  for (const HeldCopy& one : cached) {
    if (one.is_new) program.cached.share(one.copy);
  }
  if (!timer) return;
  MeasuredCall measured = timer->finish(Clock::now() - start);
  add_costs(measured.times, plan_, program.lowered.program);
  if (is_timed) program.times.add(measured);
  if (is_traced && !measured.failure.empty()) {
    program.host.log(
        KILN_LOG_WARNING, "trace",
        text(program.lowered.label, ": the steps of a call were not timed: ", measured.failure));
  }
}

void CallMemory::run_steps(const LoadedProgram& program, const CallTensors& tensors,
                           const StreamArena& arena, SlotAddresses& slots, CallContext& call) {
  try {
    issue(program, arena, slots, call);
    collect_outputs(tensors, slots, call);
    index_record_is_clear_ = true;
  } catch (const sdk::Failure& failure) {
    const bool is_of_driver = failure.native_library == "CUDA";
    if (!is_of_driver || !overwrites_arguments(tensors, call)) throw;
    throw_data_loss(call.device, failure);
  } catch (const std::bad_alloc&) {
    if (!overwrites_arguments(tensors, call)) throw;
    throw_data_loss(call.device, {KILN_CODE_RESOURCE_EXHAUSTED, "the host is out of memory"});
  }
}

/// Uploads what the kernels read: the seed, and in the first call and after a failure that no index
/// is out of range.
void CallMemory::upload_call_block(const LoadedProgram& program, const CallTensors& tensors,
                                   Staging& staging) {
  if (std::exchange(index_record_is_clear_, false) && !program.call_block.reads_seed) return;
  CallBlock block;
  block.seed = tensors.seed;
  block.call_counter = tensors.call_counter;
  staging.upload(call_block_.address(), &block, sizeof(block));
}

/// Queues the steps as graphs, or one by one if they are timed.
void CallMemory::issue(const LoadedProgram& program, const StreamArena& arena, SlotAddresses& slots,
                       CallContext& call) {
  const api::DeviceAddress temporaries = address(layout_.temporaries);
  if (call.timer != nullptr) return issue_plan(temporaries, slots, call);
  graphs_.issue(temporaries, slots, call, program.resources.device, key_of(slots, arena));
}

/// Uploads host inputs and sets the addresses of arguments and results.
void CallMemory::bind_slots(const CallTensors& tensors, SlotAddresses& slots,
                            CallContext& call) const {
  const Plan& plan = *plan_.plan;
  for (std::size_t i = 0; i < tensors.arguments.size(); ++i) {
    const SlotId slot = plan.arguments[i];
    if (!slot) continue;
    slots[slot] = tensors.arguments[i].device;
    const std::int64_t bytes = plan_.sizes.bytes[slot];
    if (tensors.arguments[i].host == nullptr || bytes == 0) continue;
    slots[slot] = address(layout_.inputs[i]);
    call.staging.upload(slots[slot], tensors.arguments[i].host, bytes);
  }
  for (std::size_t i = 0; i < tensors.results.size(); ++i) {
    const CallTensor& result = tensors.results[i];
    slots[plan.results[i]] = result.host == nullptr ? result.device : address(layout_.outputs[i]);
  }
}

/// Downloads outputs and the record of an index out of range, and synchronizes once.
void CallMemory::collect_outputs(const CallTensors& tensors, const SlotAddresses& slots,
                                 CallContext& call) const {
  trace_copies(call.timer, StepEvent::kCopyOut, [&] {
    for (std::size_t i = 0; i < tensors.results.size(); ++i) {
      if (tensors.results[i].host == nullptr) continue;
      const SlotId slot = plan_.plan->results[i];
      call.staging.download(tensors.results[i].host, slots[slot], plan_.sizes.bytes[slot]);
    }
  });
  finish_call(call);
}

}  // namespace kiln::cuda
