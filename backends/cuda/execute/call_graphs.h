// Captures the segments of a call as CUDA graphs: one launch of the driver instead of one per
// kernel.
//
// A graph holds the addresses of its operands, so it can only be replayed for calls with the same
// tensors in device memory. Loops are unrolled; many iterations make several graphs, which are
// launched in order.
#pragma once

#include "backends/cuda/execute/issue_plan.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace kiln::cuda {

/// The instantiated graphs of a segment. One call at a time: an executable graph never runs twice
/// at once. REQUIRES of the destructor: no launch is queued.
class SegmentGraphs {
 public:
  explicit SegmentGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~SegmentGraphs();
  SegmentGraphs(const SegmentGraphs&) = delete;
  SegmentGraphs& operator=(const SegmentGraphs&) = delete;

  /// Queues the graphs. Calls `note_queued` after the first one. Throws sdk::Failure. REQUIRES: a
  /// ScopedContext of the thread; the object outlives the call.
  void launch(const Stream& stream, const std::function<void()>& note_queued) const;

 private:
  friend class GraphRecorder;

  std::shared_ptr<const Device> device_;
  std::vector<api::GraphExecHandle> graphs_;
};

/// Captures the operations that are queued on a stream into graphs, without running them.
/// REQUIRES: one thread makes all calls, and until finish() or the destructor it makes no driver
/// call that a capture forbids, such as allocation and synchronization.
class GraphRecorder {
 public:
  /// Begins a capture; `operations`: those queued so far. REQUIRES: a ScopedContext of the thread.
  /// All functions but the destructor throw sdk::Failure.
  GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream,
                std::int64_t operations);
  /// Ends an unfinished capture and drops the graphs.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  /// Ends the graph that is being captured and begins another when it is large. `operations`:
  /// CallContext::operations.
  void between_steps(std::int64_t operations);
  std::unique_ptr<SegmentGraphs> finish();

 private:
  void begin();
  void end();

  std::shared_ptr<const Device> device_;
  const Stream& stream_;
  std::unique_ptr<SegmentGraphs> graphs_;
  std::int64_t first_operation_ = 0;  // of the graph that is being captured
  bool is_capturing_ = false;
};

/// The graphs of the calls with one GraphKey. The first call that reaches a segment queues its
/// steps one by one and the second records them, so that a path that never repeats costs no
/// instantiation.
class CallGraphs final : public SegmentIssuer {
 public:
  explicit CallGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  /// Queues the steps one by one after the driver has rejected a graph.
  void issue(const Segment& segment, CallContext& call,
             const std::function<void()>& queue) override;
  /// Whether the driver has rejected a graph.
  bool was_rejected() const { return was_rejected_; }

 private:
  std::unique_ptr<const SegmentGraphs> record(CallContext& call,
                                              const std::function<void()>& queue);

  std::shared_ptr<const Device> device_;
  /// Null: not recorded yet.
  std::unordered_map<const Segment*, std::unique_ptr<const SegmentGraphs>> segments_;
  bool was_rejected_ = false;
};

/// The address and the generation of a call's arena, and the addresses of arguments and results.
using GraphKey = std::vector<api::DeviceAddress>;

/// Graphs of the GraphKeys used last. Two suffice for updates that alternate between two buffers,
/// one for updates in place. One call at a time.
class GraphCache {
 public:
  /// `is_enabled`: false issues every call step by step.
  explicit GraphCache(bool is_enabled) : is_enabled_(is_enabled) {}

  /// Queues the steps of CallContext::plan, those of its segments by graphs if `key` has some.
  /// Throws sdk::Failure. REQUIRES: those of issue_plan; no work of an earlier call is queued.
  void issue(api::DeviceAddress arena, SlotAddresses& slots, CallContext& call,
             const std::shared_ptr<const Device>& device, GraphKey key);

  static constexpr std::size_t kMaxEntries = 4;

 private:
  struct Entry {
    GraphKey key;
    std::unique_ptr<CallGraphs> graphs;
  };

  std::vector<Entry> entries_;  // the one used last first
  bool is_enabled_;             // until the driver rejects a graph
};

}  // namespace kiln::cuda
