// Captures the steps of a call as CUDA graphs: one launch of the driver instead of one per kernel.
//
// A graph holds the addresses of its operands, so it can only be replayed for calls with the same
// tensors in device memory. Loops are unrolled; many iterations make several graphs, which are
// launched in order.
#pragma once

#include "backends/cuda/execute/issue_plan.h"

#include <memory>
#include <vector>

namespace kiln::cuda {

/// The instantiated graphs of one key. One call at a time: an executable graph never runs twice at
/// once. REQUIRES of the destructor: no launch is queued.
class CallGraphs {
 public:
  explicit CallGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~CallGraphs();
  CallGraphs(const CallGraphs&) = delete;
  CallGraphs& operator=(const CallGraphs&) = delete;

  /// Queues the graphs and sets CallContext::replayed. Throws sdk::Failure. REQUIRES: a
  /// ScopedContext of the thread; the object outlives `call`.
  void launch(CallContext& call) const;

 private:
  friend class GraphRecorder;
  friend class GraphCache;

  std::shared_ptr<const Device> device_;
  std::vector<api::GraphExecHandle> graphs_;
  std::vector<const codegen::KernelStep*> launched_;  // as CallContext has them
};

/// Captures the operations that are queued on a stream into graphs, without running them.
/// REQUIRES: one thread makes all calls, and until finish() or the destructor it makes no driver
/// call that a capture forbids, such as allocation and synchronization.
class GraphRecorder {
 public:
  /// Begins a capture. REQUIRES: a ScopedContext of the thread. All functions but the destructor
  /// throw sdk::Failure.
  GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream);
  /// Ends an unfinished capture and drops the graphs.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  /// Ends the graph that is being captured and begins another when it is large. `operations`:
  /// CallContext::operations.
  void between_steps(std::int64_t operations);
  std::unique_ptr<CallGraphs> finish();

 private:
  void begin();
  void end();

  std::shared_ptr<const Device> device_;
  const Stream& stream_;
  std::unique_ptr<CallGraphs> graphs_;
  std::int64_t first_operation_ = 0;  // of the graph that is being captured
  bool is_capturing_ = false;
};

/// Addresses of a call's arena, arguments and results.
using GraphKey = std::vector<api::DeviceAddress>;

/// Graphs of the last few tuples of addresses. Two suffice for updates that alternate between two
/// buffers, one for updates in place.
class GraphCache {
 public:
  /// `is_enabled`: false issues every call step by step.
  explicit GraphCache(bool is_enabled) : is_enabled_(is_enabled) {}

  /// Queues the plan's steps, by graphs if `key` has some. The first call with a key queues the
  /// steps one by one and the second captures them, so that a key that never repeats costs no
  /// instantiation. Steps are always queued one by one for a plan that waits for the host, for one
  /// with more than kMaxOperations operations, and after the driver has rejected a graph. Throws
  /// sdk::Failure. REQUIRES: those of issue_plan; no work of an earlier call is queued.
  void issue(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
             CallContext& call, const std::shared_ptr<const Device>& device, GraphKey key);

  static constexpr std::size_t kMaxEntries = 4;
  static constexpr std::int64_t kMaxOperations = 65536;

 private:
  struct Entry {
    GraphKey key;
    std::unique_ptr<const CallGraphs> graphs;  // null: not captured yet
  };

  bool record(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
              CallContext& call, const std::shared_ptr<const Device>& device, Entry& entry);

  std::vector<Entry> entries_;  // the one used last first
  bool is_enabled_;             // until the driver rejects a graph
};

}  // namespace kiln::cuda
