// Queues the steps of a bound plan on a stream, in order. Only branches, host calls and steps that
// throw synchronize with the device.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/execute/device_plan.h"

#include <functional>
#include <unordered_map>

namespace kiln::cuda {

/// The address of each slot of a plan; 0 where a tensor has no elements or nothing reads it.
using SlotAddresses = std::vector<api::DeviceAddress>;

/// Constants of a program and its bodies in device memory, by the bytes that they hold.
using ConstantAddresses = std::unordered_map<const void*, api::DeviceAddress>;

/// The state of one call that its steps share. One thread at a time.
struct CallContext {
  const Device& device;
  const codegen::LoweredModule& lowered;
  const ConstantAddresses& constants;
  const sdk::Host& host;
  void* host_call_context = nullptr;
  Stream& stream;
  Staging& staging;
  api::DeviceAddress call_block = 0;  // a codegen::CallBlock
  api::DeviceAddress arrivals = 0;    // DevicePlan::arrivals counters, 0 between launches
  api::DeviceAddress counters = 0;    // int64 numbers from 0, which loop bodies read as t
  /// The step of each launch so far: CallBlock::step is an index of this list.
  std::vector<const codegen::KernelStep*> launched = {};
  /// The launches of graphs that were replayed, which take the place of `launched`; null: none.
  const std::vector<const codegen::KernelStep*>* replayed = nullptr;
  std::int64_t operations = 0;  // kernel launches and copies queued so far, without matmuls
  /// Called between steps with `operations`; may be empty.
  std::function<void(std::int64_t)> between_steps = {};

  const std::vector<const codegen::KernelStep*>& launches() const {
    return replayed != nullptr ? *replayed : launched;
  }
};

/// The addresses of temporaries in `arena` and of constants; 0 for arguments and results.
SlotAddresses fixed_addresses(const DevicePlan& plan, api::DeviceAddress arena,
                              const CallContext& call);

/// REQUIRES: `slots` has arguments and results; a ScopedContext of the thread. Throws sdk::Failure;
/// the stream may then still have work.
void issue_plan(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
                CallContext& call);

/// Waits for the stream and finishes downloads. Throws sdk::Failure for an index out of range in a
/// launch of the call, with the text and source line that every backend gives.
void finish_call(CallContext& call);

}  // namespace kiln::cuda
