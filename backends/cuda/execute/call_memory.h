// Runs calls of a bound plan, one at a time, in one device allocation.
#pragma once

#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/call_graphs.h"

namespace kiln::cuda {

/// The parts of a loaded program that all its calls share.
struct LoadedProgram {
  const codegen::LoweredModule& lowered;
  const ConstantAddresses& constants;
  const sdk::Host& host;
  const DeviceResources& resources;
};

/// A tensor of a call: in host memory, which is copied, or in device memory, which is used in
/// place. Both null for a tensor without elements.
struct CallTensor {
  void* host = nullptr;
  api::DeviceAddress device = 0;
};

/// The arguments of one call; `seed` and `call_counter` as in kiln_execute_args.
struct CallTensors {
  std::vector<CallTensor> arguments;  // inputs, then states: read
  std::vector<CallTensor> results;    // outputs, then updates: written
  std::uint64_t seed = 0, call_counter = 0;
  void* host_call_context = nullptr;
};

/// One allocation with the call block, counters of blocks and loops, copies of host inputs and
/// outputs, and the arena of temporaries. Its address never changes, so graphs stay valid. One call
/// at a time.
class CallMemory {
 public:
  /// `plan` outlives the object. Throws sdk::Failure of RESOURCE_EXHAUSTED, which lists the largest
  /// tensors. REQUIRES: a ScopedContext of the thread.
  CallMemory(const DevicePlan& plan, const LoadedProgram& program, std::size_t inputs,
             std::size_t outputs);

  /// Runs the plan and synchronizes. REQUIRES: a ScopedContext of the thread. Throws sdk::Failure:
  /// the contents of outputs are then unspecified, but variables that the call updates in place
  /// keep their values. An error of the driver, or std::bad_alloc, that leaves such a variable
  /// partly written ends the device with DATA_LOSS.
  void run(const LoadedProgram& program, const CallTensors& tensors);

 private:
  /// The bytes from the beginning of the allocation to each part of it.
  struct Layout {
    std::int64_t arrivals = 0, counters = 0, arena = 0, bytes = 0;
    std::vector<std::int64_t> inputs, outputs;
  };

  static Layout lay_out(const DevicePlan& plan, std::size_t inputs, std::size_t outputs);
  static DeviceMemory allocate(const DevicePlan& plan, const LoadedProgram& program,
                               std::int64_t bytes);
  void upload_counters(const LoadedProgram& program);
  void clear_arrivals(const LoadedProgram& program);
  api::DeviceAddress address(std::int64_t offset) const;
  void place(const CallTensors& tensors, SlotAddresses& slots, CallContext& call) const;
  void collect_outputs(const CallTensors& tensors, const SlotAddresses& slots,
                       CallContext& call) const;

  const DevicePlan& plan_;
  Layout layout_;
  DeviceMemory memory_;
  GraphCache graphs_;
};

}  // namespace kiln::cuda
