// Captures with CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: the global mode would also restrict the driver
// calls of other threads during the capture.
#include "backends/cuda/execute/call_graphs.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

/// Starts another graph before the first step that follows this many operations.
constexpr std::int64_t kOperationsOfGraph = 4096;

}  // namespace

// ---- SegmentGraphs ----

SegmentGraphs::~SegmentGraphs() {
  if (graphs_.empty() || !device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    for (const api::GraphExecHandle graph : graphs_) device_->driver().graph_exec_destroy(graph);
  } catch (...) {
    // The device has just ended: the driver frees the graphs with the context.
  }
}

void SegmentGraphs::launch(const Stream& stream, const std::function<void()>& note_queued) const {
  for (const api::GraphExecHandle graph : graphs_) {
    const auto launch = [&] { return device_->driver().graph_launch(graph, stream.handle()); };
    stream.submit(launch, "launch a graph");
    note_queued();
  }
}

// ---- GraphRecorder ----

GraphRecorder::GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream,
                             std::int64_t operations)
    : device_(std::move(device)),
      stream_(stream),
      graphs_(std::make_unique<SegmentGraphs>(device_)),
      first_operation_(operations) {
  begin();
}

GraphRecorder::~GraphRecorder() {
  if (!is_capturing_) return;
  api::GraphHandle graph = nullptr;
  const api::Driver& driver = device_->driver();
  driver.stream_end_capture(stream_.handle(), &graph);
  if (graph != nullptr) driver.graph_destroy(graph);
}

void GraphRecorder::begin() {
  device_->check(
      device_->driver().stream_begin_capture(stream_.handle(), api::CaptureMode::ThreadLocal),
      "begin a graph");
  is_capturing_ = true;
}

void GraphRecorder::end() {
  // Reserves first: std::bad_alloc after the end of the capture would leak the graph.
  graphs_->graphs_.reserve(graphs_->graphs_.size() + 1);
  const api::Driver& driver = device_->driver();
  api::GraphHandle graph = nullptr;
  device_->check(driver.stream_end_capture(stream_.handle(), &graph), "end a graph");
  is_capturing_ = false;
  api::GraphExecHandle executable = nullptr;
  const api::Status status =
      device_->allocate([&] { return driver.graph_instantiate(&executable, graph, 0); });
  driver.graph_destroy(graph);
  device_->check(status, "instantiate a graph");
  graphs_->graphs_.push_back(executable);
}

void GraphRecorder::between_steps(std::int64_t operations) {
  if (operations - first_operation_ < kOperationsOfGraph) return;
  end();
  begin();
  first_operation_ = operations;
}

std::unique_ptr<SegmentGraphs> GraphRecorder::finish() {
  end();
  return std::move(graphs_);
}

// ---- CallGraphs ----

void CallGraphs::issue(const Segment& segment, CallContext& call,
                       const std::function<void()>& queue) {
  const auto [found, is_new] = segments_.try_emplace(&segment);
  if (!is_new && !found->second && !was_rejected_) found->second = record(call, queue);
  if (!found->second) return queue();
  found->second->launch(call.stream, [&] { call.note_queued(segment); });
}

/// Captures the segment without running it; null if capture or instantiation fails: the caller then
/// queues its steps one by one. Throws sdk::Failure on an ended device.
std::unique_ptr<const SegmentGraphs> CallGraphs::record(CallContext& call,
                                                        const std::function<void()>& queue) {
  const std::size_t queued_steps = call.queued_steps;
  const auto stop = [&] {
    call.between_steps = nullptr;
    call.queued_steps = queued_steps;
  };
  try {
    GraphRecorder recorder(device_, call.stream, call.operations);
    call.between_steps = [&](std::int64_t operations) { recorder.between_steps(operations); };
    queue();
    stop();
    return recorder.finish();
  } catch (const sdk::Failure& failure) {
    stop();
    if (!device_->is_usable()) throw;
    // Out of memory may be temporary: a later call tries again.
    was_rejected_ = failure.code() != KILN_CODE_RESOURCE_EXHAUSTED;
    return nullptr;
  } catch (...) {
    stop();
    throw;
  }
}

// ---- GraphCache ----

void GraphCache::issue(api::DeviceAddress arena, SlotAddresses& slots, CallContext& call,
                       const std::shared_ptr<const Device>& device, GraphKey key) {
  if (is_enabled_ && !entries_.empty() && entries_.front().graphs->was_rejected()) {
    is_enabled_ = false;
    entries_.clear();
  }
  if (!is_enabled_) return issue_plan(arena, slots, call);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) {
    entries_.insert(entries_.begin(), Entry{std::move(key), std::make_unique<CallGraphs>(device)});
    if (entries_.size() > kMaxEntries) entries_.pop_back();
  } else {
    std::rotate(entries_.begin(), found, found + 1);
  }
  call.segments = entries_.front().graphs.get();
  issue_plan(arena, slots, call);
}

}  // namespace kiln::cuda
