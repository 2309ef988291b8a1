// Executables of host targets: single calls (execute) and prepared calls (sdk::Frame).
#include "backends/codegen/host/host_target.h"

#include "backends/codegen/bind/cached_steps.h"
#include "backends/codegen/bind/check_arguments.h"
#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/bind/print_profile.h"
#include "backends/codegen/compile.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "backends/codegen/host/call_memory.h"
#include "backends/codegen/host/sized_plans.h"
#include "backends/codegen/host/timings.h"
#include "backends/codegen/step_trace.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The address of the elements; empty_tensor() where there are none.
std::byte* address_of(const sdk::Buffer& buffer) {
  const void* data = buffer.bytes() == 0 ? nullptr : buffer.host_data();
  return data ? static_cast<std::byte*>(const_cast<void*>(data)) : empty_tensor();
}

/// Memory of calls that have ended. Thread-safe.
class IdleMemory {
 public:
  std::unique_ptr<CallMemory> acquire() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<CallMemory> memory = std::move(idle_.back());
        idle_.pop_back();
        return memory;
      }
      idle_.reserve(++count_);
    }
    return std::make_unique<CallMemory>();
  }
  void recycle(std::unique_ptr<CallMemory> memory) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallMemory>> idle_;
  std::size_t count_ = 0;  // of memories, idle or not; idle_ has room for them
};

/// The memory of one call; the destructor recycles it.
class CallMemoryLease {
 public:
  explicit CallMemoryLease(IdleMemory& idle) : idle_(idle), memory_(idle.acquire()) {}
  ~CallMemoryLease() { idle_.recycle(std::move(memory_)); }
  CallMemoryLease(const CallMemoryLease&) = delete;
  CallMemoryLease& operator=(const CallMemoryLease&) = delete;
  CallMemory& operator*() { return *memory_; }

 private:
  IdleMemory& idle_;
  std::unique_ptr<CallMemory> memory_;
};

class CompiledFrame;

class CompiledExecutable final : public sdk::Executable {
 public:
  CompiledExecutable(LoweredModule lowered, HostTarget& target, const sdk::Host& host)
      : lowered_(std::move(lowered)),
        target_(target),
        host_(host),
        dumps_(host_, lowered_.label, &lowered_.module) {
    const ir::Graph& graph = source().graph;
    inputs = graph.inputs.size();
    states = source().state.size();
    outputs = graph.outputs.size();
    updates = graph.updates.size();
    updates_in_place = lowered_.updates_in_place;
    this->target = target.machine();
    unchanged_ = unchanged_arguments(lowered_);
    dump_memory();
    target.dump_schedules(program().kernels, dumps_);
    functions_ = target.compile(program().kernels, keep_alive_, dumps_, lowered_.times);
    dumps_.compile_times(lowered_.times);
    dumps_.compilation(program(), lowered_.times);
    if (dumps_.wanted("timings")) call_times_.enable();
    step_trace_.enable_if_wanted();
    const HostDescription host_description{target.description()};
    plans_ = std::make_unique<SizedPlans>(SizedParts{.inputs = graph.inputs,
                                                     .guards = lowered_.guards,
                                                     .program = program(),
                                                     .functions = functions_,
                                                     .unchanged = unchanged_,
                                                     .forms = weights_,
                                                     .library = target.library(),
                                                     .host = host_description,
                                                     .dumps = dumps_,
                                                     .bindings = bindings_});
  }

  std::unique_ptr<sdk::Event> execute(const sdk::Call& call) const override {
    InputSizes sizes;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      const sdk::Buffer& input = *call.inputs[i];
      check_input(source().graph.inputs, i, input.dtype(), input.dims().size());
      sizes.push_back(input.dims());
    }
    CallMemoryLease memory(idle_memory_);
    (*memory).prepare(plans_->of(sizes));
    ExecutionList& list = (*memory).list();
    const auto argument = [&](std::size_t i, const sdk::Buffer& buffer, std::uint64_t version) {
      const SlotId slot = program().plan.arguments[i];
      if (!slot) return;
      list.set_address(slot, address_of(buffer));
      list.versions[slot] = version;
    };
    for (std::size_t i = 0; i < call.inputs.size(); ++i) argument(i, *call.inputs[i], 0);
    for (std::size_t i = 0; i < call.states.size(); ++i) {
      check_state(source(), i, *call.states[i].buffer);
      argument(call.inputs.size() + i, *call.states[i].buffer, call.states[i].version);
    }
    // New buffers are handed to the host only after the whole call has succeeded.
    const std::size_t results = call.outputs.size() + call.updates.size();
    std::vector<std::unique_ptr<sdk::HostBuffer>> buffers(results);
    for (std::size_t i = 0; i < results; ++i) {
      const sdk::Result& result = result_of(call, i);
      list.set_address(result_slot(i), destination(*list.plan, result, i, buffers[i]));
    }
    RunContext context = make_context();
    context.seed = call.seed;
    context.call_counter = call.call_counter;
    context.host_call_context = call.host_call_context;
    run(*memory, context);
    for (std::size_t i = 0; i < results; ++i) {
      if (buffers[i]) result_of(call, i).allocated = std::move(buffers[i]);
    }
    return nullptr;
  }

  std::unique_ptr<sdk::Frame> make_frame(const sdk::FrameIo& io) const override;

  /// Repeats lowering and compilation for their texts, which are large and not stored; all other
  /// dumps come from the executable itself.
  void dump() const override {
    dump_lowering(lowered_, target_, dumps_);
    dumps_.program(program());
    dump_memory();
    target_.dump_schedules(program().kernels, dumps_);
    if (target_.wants_code_dumped(dumps_)) {
      std::shared_ptr<const void> unused;
      CompileTimes again;
      target_.compile(program().kernels, unused, dumps_, again);
    }
    dumps_.compile_times(lowered_.times);
    for (const auto& sized : plans_->all()) {
      dump_binding(dumps_, program(), *sized->plan, sized->number);
    }
    dumps_.hand_over("timings", "calls", [&] { return call_times_.print(); });
    if (dumps_.wanted("timings")) call_times_.enable();
    dump_profile();
    step_trace_.enable_if_wanted();
  }

  sdk::ExecutableStats stats() const override {
    sdk::ExecutableStats stats = plans_->stats();
    stats.code_generations = 1;
    return stats;
  }

 private:
  friend class CompiledFrame;

  const module::Module& source() const { return lowered_.module; }
  const Program& program() const { return lowered_.program; }

  void dump_memory() const {
    dumps_.hand_over("memory_plan", "", [&] { return print_memory(program()); });
  }

  /// Takes `context` by reference, as prepared calls reuse it: copying fields right after they were
  /// written stalls on store forwarding.
  void run(CallMemory& memory, RunContext& context) const {
    context.timed = call_times_.is_enabled();
    context.trace = step_trace_.is_wanted() ? &step_trace_ : nullptr;
    const ScopedStepTrace trace(context.trace);
    if (!context.timed) return run_plan(memory, context);
    const ScopedFpEnvironment usual;  // for the arithmetic on times; kernels set their own
    const Clock::time_point start = Clock::now();
    run_plan(memory, context);
    call_times_.add(memory.list(), std::chrono::duration<double>(Clock::now() - start).count());
  }

  void dump_profile() const {
    if (dumps_.wanted(sdk::ProfileText::kBegin)) {
      call_times_.enable();
      bindings_.begin();
    }
    dumps_.hand_over(sdk::ProfileText::kStage, "", [&] {
      const std::shared_ptr<SizedPlan> largest = plans_->largest();
      std::optional<ProfiledMemory> memory;
      if (largest) memory = {memory_of(*largest->plan), largest->plan->weight_bytes};
      return print_profile(source(), program(), call_times_.sums(), bindings_, memory);
    });
    if (dumps_.wanted(sdk::ProfileText::kEnd)) {
      call_times_.disable();
      bindings_.end();
    }
  }

  SlotId result_slot(std::size_t i) const { return program().plan.results[i]; }

  /// A context with the fields that all calls share.
  RunContext make_context() const {
    RunContext context;
    context.program = &program();
    context.module = &source();
    context.host = &host_;
    context.weights = &weights_;
    context.mode = target_.thread_mode();
    return context;
  }

  static sdk::Result& result_of(const sdk::Call& call, std::size_t i) {
    return i < call.outputs.size() ? call.outputs[i] : call.updates[i - call.outputs.size()];
  }

  /// The address for result `i`: of the given buffer, or of a new one, which `buffer` receives.
  std::byte* destination(const BoundPlan& plan, const sdk::Result& result, std::size_t i,
                         std::unique_ptr<sdk::HostBuffer>& buffer) const {
    const sdk::Dims dims = plan.sizes.dims(result_slot(i));
    if (!result.given) {
      buffer = allocate_result(i, dims);
      return address_of(*buffer);
    }
    auto* target = dynamic_cast<sdk::HostBuffer*>(result.given);
    if (!target) throw result_mismatch(lowered_.results[i], i);
    check_given_result(lowered_.results[i], i, dims, *target);
    return address_of(*target);
  }

  std::unique_ptr<sdk::HostBuffer> allocate_result(std::size_t i, sdk::Dims dims) const {
    const ir::Value& result = lowered_.results[i];
    try {
      return std::make_unique<sdk::HostBuffer>(static_cast<std::uint32_t>(result.dtype()), dims);
    } catch (const sdk::Failure& failure) {
      throw sdk::Failure(failure.code(), text(failure.what(), ": ", result.dtype(), "[",
                                              join_text(dims, ","), "]", result_source(result, i)));
    }
  }

  LoweredModule lowered_;
  std::vector<bool> unchanged_;  // arguments that no call of this program changes
  HostTarget& target_;
  sdk::Host host_;
  std::shared_ptr<const void> keep_alive_;
  KernelFunctions functions_;
  Dumps dumps_;
  mutable CallTimes call_times_{program()};
  mutable BindingTimes bindings_;
  mutable StepTrace step_trace_{program(), dumps_};
  mutable SharedWeights weights_;
  std::unique_ptr<SizedPlans> plans_;  // have forms of weights_
  mutable IdleMemory idle_memory_;  // has lists of plans
};

/// A prepared call. Its memory is reused for all sizes; it looks the plan up when they change.
class CompiledFrame final : public sdk::Frame {
 public:
  CompiledFrame(const CompiledExecutable& program, const sdk::FrameIo& io)
      : program_(program), io_(io), context_(program.make_context()) {}

  void run() override {
    if (!is_bound_ || serial_ != io_.sizes_serial()) rebind();
    ExecutionList& list = memory_.list();
    const std::vector<SlotId>& arguments = program_.program().plan.arguments;
    for (std::size_t i = 0; i < io_.input_count(); ++i) {
      if (arguments[i]) list.set_address(arguments[i], address_or_empty(io_.input(i).data));
    }
    for (std::size_t i = 0; i < io_.state_count(); ++i) {
      const SlotId slot = arguments[io_.input_count() + i];
      if (!slot) continue;
      list.set_address(slot, address_of(io_.state(i)));
      list.versions[slot] = io_.state_version(i);
    }
    for (std::size_t i = 0; i < io_.output_count(); ++i) {
      list.set_address(program_.result_slot(i), address_or_empty(io_.output(i).data));
    }
    for (std::size_t i = 0; i < io_.update_count(); ++i) {
      list.set_address(program_.result_slot(io_.output_count() + i), address_of(io_.update(i)));
    }
    context_.seed = io_.seed();
    context_.call_counter = io_.call_counter();
    context_.host_call_context = io_.host_call_context();
    program_.run(memory_, context_);
  }

 private:
  static std::byte* address_or_empty(void* data) {
    return data ? static_cast<std::byte*>(data) : empty_tensor();
  }

  /// Binds the plan to the present sizes and prepares the memory.
  void rebind() {
    is_bound_ = false;
    sizes_.clear();
    const module::Module& source = program_.source();
    for (std::size_t i = 0; i < io_.input_count(); ++i) {
      check_input(source.graph.inputs, i, io_.input(i).dtype, io_.input(i).dims.rank);
      sizes_.push_back(abi::view_of(io_.input(i).dims));
    }
    for (std::size_t i = 0; i < io_.state_count(); ++i) check_state(source, i, io_.state(i));
    for (std::size_t i = 0; i < io_.update_count(); ++i) {
      check_state(source, program_.lowered_.updated[i], io_.update(i));
    }
    memory_.prepare(program_.plans_->of(sizes_));
    // Starts the thread pool now: if that fails, it must fail before a state is overwritten.
    if (!program_.updates_in_place.empty()) {
      program_.host_.parallel_for(2, [](std::uint64_t, std::uint64_t) {});
    }
    serial_ = io_.sizes_serial();
    is_bound_ = true;
  }

  const CompiledExecutable& program_;
  sdk::FrameIo io_;
  bool is_bound_ = false;  // memory_ is prepared for the sizes of serial_
  std::uint64_t serial_ = 0;
  InputSizes sizes_;  // working memory
  CallMemory memory_;
  RunContext context_;
};

std::unique_ptr<sdk::Frame> CompiledExecutable::make_frame(const sdk::FrameIo& io) const {
  return std::make_unique<CompiledFrame>(*this, io);
}

}  // namespace

std::unique_ptr<sdk::Executable> HostTarget::load(LoweredModule lowered, const sdk::Host& host) {
  return std::make_unique<CompiledExecutable>(std::move(lowered), *this, host);
}

}  // namespace kiln::codegen
