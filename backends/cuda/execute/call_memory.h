// Runs calls of a bound plan: lays out their memory in the arena of a leased stream, queues the
// steps, and synchronizes once.
#pragma once

#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/call_graphs.h"

namespace kiln::cuda {

/// The parts of codegen::CallBlock that a program's kernels use. A call copies no others: a copy of
/// a few bytes takes longer than a small kernel.
struct CallBlockUse {
  bool reads_seed = false;  // draws random numbers
  bool records_indices = false;  // has indices that may be out of range
};
CallBlockUse call_block_use(const codegen::BuiltKernels& kernels);

/// The parts of a loaded program that all its calls share.
struct LoadedProgram {
  const codegen::LoweredModule& lowered;
  CallBlockUse call_block;
  const ConstantAddresses& constants;
  const sdk::Host& host;
  const DeviceResources& resources;
  Communicators* communicators;  // null: the host runs collectives
  CachedTensors& cached;
  CallTimes& times;
  codegen::StepTrace& trace;
};

/// A tensor of a call: in host memory, which is copied, or in device memory, which kernels access
/// directly. Both null for a tensor without elements.
struct CallTensor {
  void* host = nullptr;
  api::DeviceAddress device = 0;
  std::uint64_t version = 0;  // of a variable: equal versions, equal contents; 0: unknown
};

/// The arguments of one call; `seed` and `call_counter` as in kiln_execute_args.
struct CallTensors {
  std::vector<CallTensor> arguments;  // inputs, then states: read
  std::vector<CallTensor> results;  // outputs, then updates: written
  std::uint64_t seed = 0, call_counter = 0;
  void* host_call_context = nullptr;
  LastCopies last_copies = {};  // of calls with these arguments
};

/// The memory of a call. In the arena of the leased stream: copies of host inputs and outputs, the
/// temporaries, and buffers of collectives. Its contents do not outlive the call, so calls of all
/// programs share it; its address never changes, so graphs stay valid. Allocated once: the call
/// block, arrival counters and iteration numbers. One call at a time.
class CallMemory {
 public:
  /// `plan` outlives the object. Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
  CallMemory(const DevicePlan& plan, const LoadedProgram& program, std::size_t inputs,
             std::size_t outputs);

  /// Runs the plan and synchronizes. REQUIRES: a ScopedContext of the thread. Throws sdk::Failure,
  /// RESOURCE_EXHAUSTED with a list of the largest tensors if the arena cannot grow. After a
  /// failure the contents of outputs are unspecified, but variables that the call updates in place
  /// keep their values: kernels write them after every step that can fail
  /// (codegen/plan/buffer_aliasing.h). If the driver or an allocation of host memory fails after
  /// such a kernel was launched, the call ends the device with DATA_LOSS.
  void run(const LoadedProgram& program, CallTensors& tensors);

 private:
  /// The bytes from the beginning of the arena to each part of it.
  struct Layout {
    std::int64_t temporaries = 0, bytes = 0;
    std::int64_t collectives = 0;  // DevicePlan::collective_bytes
    std::vector<std::int64_t> inputs, outputs;
  };

  static Layout lay_out(const DevicePlan& plan, std::size_t inputs, std::size_t outputs);
  void upload_iteration_numbers(const LoadedProgram& program);
  std::vector<HeldCopy> hold_cached(const LoadedProgram& program, CallTensors& tensors) const;
  void provide_cached(const std::vector<HeldCopy>& held, SlotAddresses& slots, CallContext& call);
  void grow(StreamArena& arena) const;
  GraphKey key_of(const SlotAddresses& slots, const StreamArena& arena) const;
  void clear_arrivals(const LoadedProgram& program);
  void run_steps(const LoadedProgram& program, const CallTensors& tensors, const StreamArena& arena,
                 SlotAddresses& slots, CallContext& call);
  void upload_call_block(const LoadedProgram& program, const CallTensors& tensors,
                         Staging& staging);
  api::DeviceAddress address(std::int64_t offset) const;
  void issue(const LoadedProgram& program, const StreamArena& arena, SlotAddresses& slots,
             CallContext& call);
  void bind_slots(const CallTensors& tensors, SlotAddresses& slots, CallContext& call) const;
  void collect_outputs(const CallTensors& tensors, const SlotAddresses& slots,
                       CallContext& call) const;

  const DevicePlan& plan_;
  Layout layout_;
  DeviceMemory call_block_;  // a codegen::CallBlock
  bool index_record_is_clear_ = false;  // the block records no index that is out of range
  DeviceMemory arrivals_;  // arrival counters (GridLaunch::arrivals), 0 between launches
  DeviceMemory iteration_numbers_;  // int64 numbers of loop iterations, from 0
  GraphCache graphs_;
  const StagedStream* stream_ = nullptr;  // of the last call; never dereferenced
  api::DeviceAddress arena_address_ = 0;  // of the arena of the running call
};

}  // namespace kiln::cuda
