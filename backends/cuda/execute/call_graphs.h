// The steps of a call as CUDA graphs: one launch of the driver instead of one for each kernel.
//
// A graph holds addresses, so that it serves calls with the same tensors in device memory. Loops
// are unrolled; many iterations make several graphs, which are launched one after the other.
#pragma once

#include "backends/cuda/execute/issue_plan.h"

#include <memory>
#include <vector>

namespace kiln::cuda {

/// Graphs of one call, ready to be launched. For one call at a time.
class CallGraphs {
 public:
  explicit CallGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~CallGraphs();
  CallGraphs(const CallGraphs&) = delete;
  CallGraphs& operator=(const CallGraphs&) = delete;

  /// Queues the graphs; `call` is then as issue_plan leaves it. Throws sdk::Failure.
  void launch(CallContext& call) const;

 private:
  friend class GraphRecorder;
  friend class GraphCache;

  std::shared_ptr<const Device> device_;
  std::vector<api::GraphExecHandle> graphs_;
  std::vector<const codegen::KernelStep*> launched_;  // as CallContext has them
};

/// Captures what is queued to a stream into graphs. Nothing runs meanwhile.
class GraphRecorder {
 public:
  /// Begins. REQUIRES: a ScopedContext of the thread. All functions throw sdk::Failure.
  GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream);
  /// Ends an unfinished capture and drops the graphs.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  /// Begins another graph when the one that is captured is large. `operations`: of the call so far.
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

/// Addresses of a call's arguments and results.
using GraphKey = std::vector<api::DeviceAddress>;

/// Graphs of the last few tuples of addresses. Two suffice for updates that alternate between two
/// buffers, one for updates in place.
class GraphCache {
 public:
  /// `is_enabled`: false issues every call step by step.
  explicit GraphCache(bool is_enabled) : is_enabled_(is_enabled) {}

  /// Issues the plan: by its graphs where there are some for `key`. The first call with a key
  /// issues its steps one by one, the second records them, so that calls which never come again
  /// cost no instantiation. A plan that waits for the host, or one with more than kMaxOperations
  /// operations, is always issued step by step, and so are all calls after the driver has rejected
  /// a graph.
  void issue(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
             CallContext& call, const std::shared_ptr<const Device>& device, GraphKey key);

  static constexpr std::size_t kMaxEntries = 4;
  static constexpr std::int64_t kMaxOperations = 65536;

 private:
  struct Entry {
    GraphKey key;
    std::unique_ptr<const CallGraphs> graphs;  // null: the key was seen once
  };

  bool record(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
              CallContext& call, const std::shared_ptr<const Device>& device, Entry& entry);

  std::vector<Entry> entries_;  // the one used last first
  bool is_enabled_;             // until the driver rejects a graph
};

}  // namespace kiln::cuda
