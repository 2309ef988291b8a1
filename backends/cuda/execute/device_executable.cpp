// Binds plans to sizes, keeps the memory of finished calls for reuse, and runs calls.
#include "backends/cuda/execute/device_executable.h"

#include "backends/codegen/bind/bind_failure.h"
#include "backends/codegen/bind/call_sizes.h"
#include "backends/codegen/bind/check_arguments.h"
#include "backends/codegen/bind/print_profile.h"
#include "backends/codegen/bind/sized_cache.h"
#include "backends/codegen/compile.h"
#include "backends/codegen/inspect/source.h"
#include "backends/cuda/execute/call_memory.h"
#include "backends/cuda/execute/dump_sass.h"
#include "backends/cuda/execute/kernel_library.h"
#include "backends/cuda/execute/machine_text.h"
#include "core/types/text.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// A plan bound to one tuple of sizes, with a free list of CallMemory of finished calls.
/// Thread-safe.
struct SizedPlan {
  /// An estimate of the memory of the plan, its graphs and their kernel nodes.
  std::int64_t bytes() const {
    constexpr std::int64_t kBytesOfOperation = 4096, kMaxOperations = 4096;
    const std::int64_t operations = std::max<std::int64_t>(plan->operations, 0);
    return (std::min(operations, kMaxOperations) + 16) * kBytesOfOperation;
  }

  std::unique_ptr<DevicePlan> plan;
  std::uint64_t number = 0;  // in the order of binding, from 1
  std::vector<std::vector<std::int64_t>> result_dims;

  /// Null: the free list is empty.
  std::unique_ptr<CallMemory> acquire() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<CallMemory> memory = std::move(idle_.back());
    idle_.pop_back();
    return memory;
  }
  /// Adds the memory to the free list, or frees it if the list cannot grow.
  void recycle(std::unique_ptr<CallMemory> memory) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      idle_.push_back(std::move(memory));
    } catch (const std::bad_alloc&) {
      return;
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallMemory>> idle_;
};

/// Holds the memory of one call and recycles it afterwards, also if the call throws.
struct CallMemoryLease {
  explicit CallMemoryLease(SizedPlan& plan) : sized(plan), memory(plan.acquire()) {}
  ~CallMemoryLease() {
    if (memory) sized.recycle(std::move(memory));
  }
  CallMemoryLease(const CallMemoryLease&) = delete;
  CallMemoryLease& operator=(const CallMemoryLease&) = delete;

  SizedPlan& sized;
  std::unique_ptr<CallMemory> memory;  // null: the free list was empty
};

class DeviceFrame;

class DeviceExecutable final : public sdk::Executable {
 public:
  DeviceExecutable(LoweredModule lowered, Target& target, const DeviceLibraries& libraries,
                   const DeviceResources& resources, const sdk::Host& host)
      : lowered_(std::move(lowered)),
        target_(target),
        libraries_(libraries),
        resources_(resources),
        host_(host),
        dumps_(host_, lowered_.label, &lowered_.module),
        loaded_{lowered_,
                call_block_use(lowered_.program.kernels),
                constant_addresses_,
                host_,
                resources_,
                libraries.communicators,
                cached_,
                call_times_,
                step_trace_},
        facts_(lowered_.program, unchanged_arguments(lowered_)),
        call_sizes_(lowered_.module.graph.inputs, lowered_.guards) {
    const ir::Graph& graph = lowered_.module.graph;
    inputs = graph.inputs.size();
    states = lowered_.module.state.size();
    outputs = graph.outputs.size();
    updates = graph.updates.size();
    updates_in_place = lowered_.updates_in_place;
    this->target = machine_text(*resources_.device, libraries_, lowered_.program);
    runs_collectives = libraries.communicators != nullptr;
    dumps_.hand_over("memory_plan", "", [&] { return print_memory(lowered_.program); });
    library_ = std::make_unique<const KernelLibrary>(lowered_.program.kernels, resources_.device,
                                                     compile());
    lowered_.times.lap("cuda");
    dumps_.compile_times(lowered_.times);
    dumps_.compilation(lowered_.program, lowered_.times);
    if (dumps_.wanted("timings")) call_times_.want();
    step_trace_.enable_if_wanted();
    const ScopedContext context(*resources_.device);
    // Calls would compile them otherwise.
    for (const AttentionForm& form : attention_forms(lowered_.program.plan)) {
      static_cast<void>(libraries_.attention_kernels.of(form));
    }
    StreamLease lease(*resources_.streams);
    upload_constants(lowered_.program.plan, lease.staging());
    lease.staging().finish();
  }

  std::unique_ptr<sdk::Event> execute(const sdk::Call& call) const override;
  std::unique_ptr<sdk::Frame> make_frame(const sdk::FrameIo& io) const override;

  /// Lowers and compiles again, since the texts of passes and kernels are not kept.
  void dump() const override {
    dump_lowering(lowered_, target_, dumps_);
    dumps_.program(lowered_.program);
    dumps_.hand_over("memory_plan", "", [&] { return print_memory(lowered_.program); });
    constexpr std::string_view kOfCompiler[] = {"schedule", "cuda_c", "ptx", "sass"};
    const auto is_wanted = [&](std::string_view stage) { return dumps_.wanted(stage); };
    if (std::ranges::any_of(kOfCompiler, is_wanted)) static_cast<void>(compile());
    dumps_.compile_times(lowered_.times);
    for (const auto& sized : cache_.all()) dump_binding(*sized);
    dumps_.hand_over("timings", "calls", [&] { return call_times_.print(lowered_.program); });
    if (dumps_.wanted("timings")) call_times_.want();
    dump_profile();
    step_trace_.enable_if_wanted();
  }

  sdk::ExecutableStats stats() const override {
    const std::lock_guard lock(stats_mutex_);
    return stats_;
  }

 private:
  friend class DeviceFrame;

  CompiledKernels compile() const {
    const Device& device = *resources_.device;
    const CodeTarget target{device.grid(), code_architecture(libraries_.compiler,
                                                             device.identity().compute_capability)};
    CompiledKernels compiled = compile_kernels(lowered_.program, target, libraries_.compiler,
                                               dumps_, lowered_.label, host_);
    dump_sass(compiled.parts, libraries_.compiler, dumps_, host_);
    dump_attention(lowered_.program.plan, libraries_.compiler, target.architecture, dumps_, host_);
    return compiled;
  }

  /// Constants of the plan and its bodies, each once.
  void upload_constants(const Plan& plan, Staging& staging) {
    for (const Slot& slot : plan.slots) {
      const auto* constant = std::get_if<ConstantSlot>(&slot.kind);
      if (!constant || constant->bytes->empty()) continue;
      if (constant_addresses_.contains(constant->bytes.get())) continue;
      const auto bytes = static_cast<std::int64_t>(constant->bytes->size());
      const std::string source = slot.node ? " (" + source_of(*slot.node) + ")" : "";
      constants_.push_back(resources_.memory->allocate(
          bytes, text("the constant ", ir::Type{slot.dtype, slot.dims}, source)));
      const api::DeviceAddress address = constants_.back().address();
      constant_addresses_.emplace(constant->bytes.get(), address);
      staging.upload(address, constant->bytes->data(), bytes);
    }
    for (const Step& step : plan.steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step)) upload_constants(*loop->body, staging);
      if (const auto* branch = std::get_if<BranchStep>(&step)) {
        for (const auto& body : branch->branches) upload_constants(*body, staging);
      }
    }
  }

  std::shared_ptr<SizedPlan> sized_plan(const InputSizes& sizes) const {
    return cache_.of(sizes, [&] {
      const auto start = std::chrono::steady_clock::now();
      std::shared_ptr<SizedPlan> sized = bind(sizes);
      if (bindings_.is_measured()) {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        bindings_.add(sized->number, taken.count(), sizes);
      }
      return sized;
    });
  }

  std::shared_ptr<SizedPlan> bind(const InputSizes& sizes) const {
    return with_call_errors([&] {
      const Clock::time_point begin = Clock::now();
      call_sizes_.solve(sizes);
      const EvaluateDim evaluate = std::cref(call_sizes_);
      auto sized = std::make_shared<SizedPlan>();
      sized->plan = bind_device_plan(
          lowered_.program.plan,
          {.program = lowered_.program,
           .facts = facts_,
           .kernels = library_->kernels(),
           .loops = library_->loops(),
           .grid = resources_.device->grid(),
           .matmuls = libraries_.matmuls,
           .cudnn = libraries_.cudnn.library(),
           .attention_kernels = libraries_.attention_kernels,
           .rank_kernels = libraries_.communicators == nullptr ? nullptr : &libraries_.rank_kernels,
           .evaluate = evaluate});
      check_launches(*sized->plan);
      for (const ir::Value& result : lowered_.results) {
        sized->result_dims.push_back(evaluate_dims(result.dims(), evaluate));
      }
      count_binding(*sized);
      dumps_.binding(sizes, sized->number, begin);
      return sized;
    });
  }

  void count_binding(SizedPlan& sized) const {
    const Arena& arena = sized.plan->arena;
    const std::lock_guard lock(stats_mutex_);
    sized.number = ++stats_.bindings;
    const auto collectives = static_cast<std::uint64_t>(sized.plan->collective_bytes);
    const auto add = [&](std::uint64_t& largest, std::int64_t bytes) {
      largest = std::max(largest, static_cast<std::uint64_t>(bytes) + collectives);
    };
    add(stats_.planned_bytes, arena.bytes);
    add(stats_.live_bytes, arena.live_bytes);
    // Sizes may change at every call: only the first binding is dumped by itself.
    if (stats_.bindings == 1) dump_binding(sized);
  }

  void dump_binding(const SizedPlan& sized) const {
    const std::string name = text("sizes-", sized.number);
    dumps_.hand_over("memory_plan", name, [&] {
      return print_memory(lowered_.program, memory_of(*sized.plan), memory_notes(*sized.plan));
    });
  }

  void dump_profile() const {
    if (dumps_.wanted(sdk::ProfileText::kBegin)) {
      call_times_.want();
      bindings_.begin();
    }
    dumps_.hand_over(sdk::ProfileText::kStage, "", [&] {
      std::shared_ptr<SizedPlan> largest;
      for (std::shared_ptr<SizedPlan>& one : cache_.all()) {
        if (!largest || one->plan->arena.bytes > largest->plan->arena.bytes) largest = one;
      }
      std::optional<ProfiledMemory> memory;
      if (largest) memory = {memory_of(*largest->plan), 0};
      return print_profile(lowered_.module, lowered_.program, call_times_.sums(), bindings_, memory,
                           call_times_.failures());
    });
    if (dumps_.wanted(sdk::ProfileText::kEnd)) {
      call_times_.end();
      bindings_.end();
    }
  }

  void run(SizedPlan& sized, CallTensors& tensors) const {
    CallMemoryLease lease(sized);
    if (!lease.memory) {
      lease.memory = std::make_unique<CallMemory>(*sized.plan, loaded_, inputs, outputs);
    }
    lease.memory->run(loaded_, tensors);
  }

  LoweredModule lowered_;
  Target& target_;
  DeviceLibraries libraries_;
  DeviceResources resources_;
  sdk::Host host_;
  Dumps dumps_;
  std::unique_ptr<const KernelLibrary> library_;
  std::vector<DeviceMemory> constants_;
  ConstantAddresses constant_addresses_;
  mutable CachedTensors cached_;
  mutable CallTimes call_times_;
  mutable BindingTimes bindings_;
  mutable StepTrace step_trace_{lowered_.program, dumps_};
  LoadedProgram loaded_;
  ProgramFacts facts_;
  mutable CallSizes call_sizes_;  // guarded by the lock of cache_, which the thread that binds has
  mutable SizedCache<SizedPlan> cache_;
  mutable std::mutex stats_mutex_;
  mutable sdk::ExecutableStats stats_{.code_generations = 1};
};

std::unique_ptr<sdk::Event> DeviceExecutable::execute(const sdk::Call& call) const {
  const ScopedContext context(*resources_.device);
  InputSizes sizes;
  CallTensors tensors;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const sdk::Buffer& input = *call.inputs[i];
    check_input(lowered_.module.graph.inputs, i, input.dtype(), input.dims().size());
    sizes.push_back(input.dims());
    tensors.arguments.push_back({nullptr, device_buffer(input).address(), 0});
  }
  for (std::size_t i = 0; i < call.states.size(); ++i) {
    check_state(lowered_.module, i, *call.states[i].buffer);
    tensors.arguments.push_back(
        {nullptr, device_buffer(*call.states[i].buffer).address(), call.states[i].version});
  }
  const std::shared_ptr<SizedPlan> sized = sized_plan(sizes);
  // A call that fails returns no results.
  std::vector<std::unique_ptr<DeviceBuffer>> buffers(call.outputs.size() + call.updates.size());
  const auto result_of = [&](std::size_t i) -> sdk::Result& {
    return i < call.outputs.size() ? call.outputs[i] : call.updates[i - call.outputs.size()];
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const sdk::Result& result = result_of(i);
    const std::vector<std::int64_t>& dims = sized->result_dims[i];
    if (result.given) {
      check_given_result(lowered_.results[i], i, dims, *result.given);
      tensors.results.push_back({nullptr, device_buffer(*result.given).address(), 0});
      continue;
    }
    const auto dtype = static_cast<std::uint32_t>(lowered_.results[i].dtype());
    buffers[i] = std::make_unique<DeviceBuffer>(dtype, dims, resources_,
                                                result_source(lowered_.results[i], i));
    tensors.results.push_back({nullptr, buffers[i]->address(), 0});
  }
  tensors.seed = call.seed;
  tensors.call_counter = call.call_counter;
  tensors.host_call_context = call.host_call_context;
  run(*sized, tensors);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i]) result_of(i).allocated = std::move(buffers[i]);
  }
  return nullptr;
}

/// The sdk::Frame of a prepared call. Binds the plan again only when the sizes change.
class DeviceFrame final : public sdk::Frame {
 public:
  DeviceFrame(const DeviceExecutable& program, const sdk::FrameIo& io)
      : program_(program), io_(io) {}

  void run() override {
    const ScopedContext context(*program_.resources_.device);
    if (!sized_ || serial_ != io_.sizes_serial()) rebind();
    const std::size_t inputs = io_.input_count(), outputs = io_.output_count();
    for (std::size_t i = 0; i < inputs; ++i) tensors_.arguments[i].host = io_.input(i).data;
    for (std::size_t i = 0; i < io_.state_count(); ++i) {
      CallTensor& state = tensors_.arguments[inputs + i];
      state.device = device_buffer(io_.state(i)).address();
      state.version = io_.state_version(i);
    }
    for (std::size_t i = 0; i < outputs; ++i) tensors_.results[i].host = io_.output(i).data;
    for (std::size_t i = 0; i < io_.update_count(); ++i) {
      tensors_.results[outputs + i].device = device_buffer(io_.update(i)).address();
    }
    tensors_.seed = io_.seed();
    tensors_.call_counter = io_.call_counter();
    tensors_.host_call_context = io_.host_call_context();
    program_.run(*sized_, tensors_);
  }

 private:
  void rebind() {
    sized_ = nullptr;
    const module::Module& module = program_.lowered_.module;
    InputSizes sizes;
    for (std::size_t i = 0; i < io_.input_count(); ++i) {
      check_input(module.graph.inputs, i, io_.input(i).dtype, io_.input(i).dims.rank);
      sizes.push_back(abi::view_of(io_.input(i).dims));
    }
    for (std::size_t i = 0; i < io_.state_count(); ++i) check_state(module, i, io_.state(i));
    for (std::size_t i = 0; i < io_.update_count(); ++i) {
      check_state(module, program_.lowered_.updated[i], io_.update(i));
    }
    sized_ = program_.sized_plan(sizes);
    tensors_.arguments.resize(io_.input_count() + io_.state_count());
    tensors_.results.resize(io_.output_count() + io_.update_count());
    serial_ = io_.sizes_serial();
  }

  const DeviceExecutable& program_;
  sdk::FrameIo io_;
  std::uint64_t serial_ = 0;
  std::shared_ptr<SizedPlan> sized_;
  CallTensors tensors_;
};

std::unique_ptr<sdk::Frame> DeviceExecutable::make_frame(const sdk::FrameIo& io) const {
  return std::make_unique<DeviceFrame>(*this, io);
}

}  // namespace

std::unique_ptr<sdk::Executable> load_program(LoweredModule lowered, Target& target,
                                              const DeviceLibraries& libraries,
                                              const DeviceResources& resources,
                                              const sdk::Host& host) {
  return std::make_unique<DeviceExecutable>(std::move(lowered), target, libraries, resources, host);
}

}  // namespace kiln::cuda
