// Captures in thread-local mode: other threads may make any driver call meanwhile.
#include "backends/cuda/execute/call_graphs.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

/// A graph ends before the first step after this many operations.
constexpr std::int64_t kOperationsOfGraph = 4096;

}  // namespace

// ---- CallGraphs ----

CallGraphs::~CallGraphs() {
  if (graphs_.empty() || !device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    for (const api::GraphExecHandle graph : graphs_) device_->driver().graph_exec_destroy(graph);
  } catch (...) {
    // The device has just ended: the graphs went with it.
  }
}

void CallGraphs::launch(CallContext& call) const {
  for (const api::GraphExecHandle graph : graphs_) {
    const auto launch = [&] { return device_->driver().graph_launch(graph, call.stream.handle()); };
    call.stream.submit(launch, "launch a graph");
    call.replayed = &launched_;
  }
}

// ---- GraphRecorder ----

GraphRecorder::GraphRecorder(std::shared_ptr<const Device> device, const Stream& stream)
    : device_(std::move(device)), stream_(stream), graphs_(std::make_unique<CallGraphs>(device_)) {
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

std::unique_ptr<CallGraphs> GraphRecorder::finish() {
  end();
  return std::move(graphs_);
}

// ---- GraphCache ----

void GraphCache::issue(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
                       CallContext& call, const std::shared_ptr<const Device>& device,
                       GraphKey key) {
  const bool has_graph = is_enabled_ && !plan.waits_for_host && plan.operations <= kMaxOperations;
  if (!has_graph) return issue_plan(plan, arena, slots, call);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) {
    entries_.insert(entries_.begin(), Entry{std::move(key), nullptr});
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return issue_plan(plan, arena, slots, call);
  }
  std::rotate(entries_.begin(), found, found + 1);
  Entry& entry = entries_.front();
  if (!entry.graphs && !record(plan, arena, slots, call, device, entry)) {
    return issue_plan(plan, arena, slots, call);
  }
  entry.graphs->launch(call);
}

/// False when capture or instantiation fails; nothing is queued then. Throws sdk::Failure when the
/// device has ended.
bool GraphCache::record(const DevicePlan& plan, api::DeviceAddress arena, SlotAddresses& slots,
                        CallContext& call, const std::shared_ptr<const Device>& device,
                        Entry& entry) {
  try {
    GraphRecorder recorder(device, call.stream);
    call.between_steps = [&](std::int64_t operations) { recorder.between_steps(operations); };
    issue_plan(plan, arena, slots, call);
    call.between_steps = nullptr;
    std::unique_ptr<CallGraphs> graphs = recorder.finish();
    graphs->launched_ = std::move(call.launched);
    entry.graphs = std::move(graphs);
    return true;
  } catch (const sdk::Failure&) {
    if (!device->is_usable()) throw;
    is_enabled_ = false;
    entries_.clear();
    call.between_steps = nullptr;
    call.launched.clear();
    return false;
  } catch (...) {
    call.launched.clear();
    throw;
  }
}

}  // namespace kiln::cuda
