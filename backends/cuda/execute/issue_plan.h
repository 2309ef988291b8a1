// Queues the steps of a bound plan on a stream, in order. Synchronizes only for branches, whose
// predicate the host reads, host calls, and steps that throw.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/device/staging.h"
#include "backends/cuda/execute/collective_run.h"
#include "backends/cuda/execute/device_plan.h"
#include "backends/cuda/execute/step_times.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace kiln::cuda {

/// Constants of a program and its bodies in device memory, by the bytes that they hold.
using ConstantAddresses = std::unordered_map<const void*, api::DeviceAddress>;

struct CallContext;

/// Queues the segments that may be CUDA graphs (Segment::has_graph).
class SegmentIssuer {
 public:
  /// Queues the segment: calls `queue`, which queues its steps one by one, or launches graphs that
  /// were captured from `queue`. Throws sdk::Failure.
  virtual void issue(const Segment& segment, CallContext& call,
                     const std::function<void()>& queue) = 0;

 protected:
  ~SegmentIssuer() = default;
};

/// The state of one call that its steps share. One thread at a time.
struct CallContext {
  const DevicePlan& plan;  // of the program; CallBlock::step numbers its launches
  const Device& device;
  const codegen::LoweredModule& lowered;
  const ConstantAddresses& constants;
  const sdk::Host& host;
  void* host_call_context = nullptr;
  Stream& stream;
  Staging& staging;
  api::DeviceAddress call_block = 0;  // a codegen::CallBlock
  bool records_indices = false;  // kernels may record an index that is out of range in it
  api::DeviceAddress arrivals = 0;  // DevicePlan::arrivals counters of blocks, 0 between launches
  api::DeviceAddress iteration_numbers = 0;  // int64 0, 1, ...; loop bodies read one as t
  /// Null: all steps are queued one by one. Always null in loop bodies, where addresses change in
  /// every iteration.
  SegmentIssuer* segments = nullptr;
  CollectiveRun* collectives = nullptr;  // null: the plan has none that the backend runs
  StepTimer* timer = nullptr;  // null: steps are not timed
  std::size_t queued_steps = 0;  // the number of leading steps of `plan` that were queued
  std::int64_t operations = 0;  // queued so far
  /// Called before each step with `operations`, to split captures; may be empty.
  std::function<void(std::int64_t)> between_steps = {};

  /// Counts the steps of a segment as queued. Ignores segments of bodies, which are part of a step.
  void note_queued(const Segment& segment) {
    const bool is_body = std::none_of(plan.segments.begin(), plan.segments.end(),
                                      [&](const Segment& one) { return &one == &segment; });
    if (!is_body) queued_steps = segment.end;
  }
};

/// Returns the addresses of temporaries in `arena` and of constants; 0 for arguments and results.
SlotAddresses fixed_addresses(const DevicePlan& plan, api::DeviceAddress arena,
                              const CallContext& call);

/// Queues the steps of CallContext::plan. REQUIRES: `slots` has arguments and results; a
/// ScopedContext of the thread. Throws sdk::Failure; the stream may then still have work.
void issue_plan(api::DeviceAddress arena, SlotAddresses& slots, CallContext& call);

/// Queues the steps of a group of DevicePlan::cached, before those of issue_plan(). REQUIRES: those
/// of issue_plan; `slots` has the group's slots.
void issue_cached_steps(const codegen::CachedGroup& group, api::DeviceAddress arena,
                        SlotAddresses& slots, CallContext& call);

/// Synchronizes the stream and finishes downloads. Throws sdk::Failure if a launch of the call has
/// recorded an index out of range, with the text and source line that every backend gives.
void finish_call(CallContext& call);

}  // namespace kiln::cuda
