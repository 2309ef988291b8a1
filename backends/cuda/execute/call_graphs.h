// Captures the segments of a call as CUDA graphs: one cuGraphLaunch instead of one launch per
// kernel. A graph holds the addresses of its operands, so only calls with the same addresses replay
// it (GraphKey). Loops are unrolled; long ones become several graphs, launched in order.
//
// Capture rules: until cuStreamEndCapture the capturing thread may neither allocate, free nor
// synchronize, so segments contain no step that the host waits for (segments.h). An error in
// between invalidates the capture, and the steps are queued one by one instead.
#pragma once

#include "backends/cuda/execute/issue_plan.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace kiln::cuda {

/// The instantiated graphs of a segment. One call at a time: launches of one executable graph never
/// run concurrently. REQUIRES of the destructor: no launch is queued.
class SegmentGraphs {
 public:
  explicit SegmentGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  ~SegmentGraphs();
  SegmentGraphs(const SegmentGraphs&) = delete;
  SegmentGraphs& operator=(const SegmentGraphs&) = delete;

  /// Queues the graphs in order and calls `note_queued` after each. Throws sdk::Failure. REQUIRES:
  /// a ScopedContext of the thread; the object outlives the call.
  void launch(const Stream& stream, const std::function<void()>& note_queued) const;

 private:
  friend class GraphRecorder;

  std::shared_ptr<const Device> device_;
  std::vector<api::GraphExecHandle> graphs_;
};

/// Captures the operations that are queued on a stream into graphs, without running them. Other
/// threads may make any driver call meanwhile. REQUIRES: one thread makes all calls, and until
/// finish() or the destructor it makes no driver call that the capture forbids.
class GraphRecorder {
 public:
  /// Begins a capture. `operations`: CallContext::operations. REQUIRES: a ScopedContext of the
  /// thread. All functions but the destructor throw sdk::Failure.
  GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream,
                std::int64_t operations);
  /// Ends an unfinished or invalidated capture and destroys its graphs.
  ~GraphRecorder();
  GraphRecorder(const GraphRecorder&) = delete;
  GraphRecorder& operator=(const GraphRecorder&) = delete;

  /// If the graph being captured is large, instantiates it and begins another. `operations`:
  /// CallContext::operations.
  void between_steps(std::int64_t operations);
  std::unique_ptr<SegmentGraphs> finish();

 private:
  void begin();
  void end();

  std::shared_ptr<const Device> device_;
  const Stream& stream_;
  std::unique_ptr<SegmentGraphs> graphs_;
  std::int64_t first_operation_ = 0;  // number of the first operation of the graph being captured
  bool is_capturing_ = false;
};

/// The graphs of the calls with one GraphKey. The first call that reaches a segment queues its
/// steps one by one; the second captures them and launches the graphs. Segments that run once cost
/// no instantiation.
class CallGraphs final : public SegmentIssuer {
 public:
  explicit CallGraphs(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  /// Queues the graphs of the segment, or its steps one by one if a capture has failed.
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

/// Every address that varies between calls of a bound plan: the arena with its generation, then
/// those of DevicePlan::given_slots.
using GraphKey = std::vector<api::DeviceAddress>;

/// An LRU cache of graphs by GraphKey. Updates that alternate between two buffers need two entries,
/// updates in place one. One call at a time.
class GraphCache {
 public:
  /// `is_enabled`: false queues the steps of every call one by one.
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

  std::vector<Entry> entries_;  // most recently used first
  bool is_enabled_;  // until the driver rejects a graph
};

}  // namespace kiln::cuda
