// A stream of a capture keeps the nodes that its next node depends on.
#include "tests/backends/cuda_fakes/driver/capture.h"

#include "tests/backends/cuda_fakes/driver/state.h"

#include <algorithm>

namespace kiln::fake_cuda {
namespace {

void join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture) {
  stream->capture = capture;
  capture->streams.push_back(stream);
}

void leave(Stream& stream) {
  stream.capture = nullptr;
  stream.is_origin = false;
  stream.tail.clear();
}

void end(Capture& capture) {
  capture.has_ended = true;
  for (const std::weak_ptr<Stream>& weak : capture.streams) {
    if (const auto stream = weak.lock()) leave(*stream);
  }
  std::erase_if(state().captures, [&](const auto& one) { return one.get() == &capture; });
}

/// The given nodes and all nodes before them.
std::vector<bool> with_dependences(const Graph& nodes, const std::vector<std::size_t>& ends) {
  std::vector<bool> reached(nodes.size());
  for (const std::size_t node : ends) reached[node] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (const std::size_t before : nodes[i].dependencies) reached[before] = true;
  }
  return reached;
}

bool is_joined(const Stream& origin) {
  const Graph& nodes = origin.capture->nodes;
  const std::vector<bool> reached = with_dependences(nodes, origin.tail);
  return std::all_of(reached.begin(), reached.end(), [](bool is_reached) { return is_reached; });
}

void add_dependences(std::vector<std::size_t>& tail, const std::vector<std::size_t>& more) {
  for (const std::size_t node : more) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
}

Status invalidate(Capture& capture, Status status) {
  capture.is_valid = false;
  return status;
}

}  // namespace

void begin_capture(const std::shared_ptr<Stream>& stream, CaptureMode mode) {
  const auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  // Without memory the stream is not captured.
  capture->streams.reserve(1);
  state().captures.reserve(state().captures.size() + 1);
  join(stream, capture);
  stream->is_origin = true;
  state().captures.push_back(capture);
}

Status end_capture(Stream& stream, std::shared_ptr<Graph>& graph) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (!stream.is_origin) return invalidate(*capture, kCaptureUnmatched);
  const bool is_own = capture->thread == std::this_thread::get_id();
  if (capture->mode != CaptureMode::Relaxed && !is_own) {
    return invalidate(*capture, kCaptureWrongThread);
  }
  Status status = Status::Success;
  if (!capture->is_valid) status = Status::CaptureInvalidated;
  else if (!is_joined(stream)) status = kCaptureUnjoined;
  if (status == Status::Success) graph = std::make_shared<Graph>(std::move(capture->nodes));
  end(*capture);
  return status;
}

Status add_node(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (!capture.is_valid) return Status::CaptureInvalidated;
  capture.nodes.push_back({std::move(operation), std::move(stream.tail)});
  stream.tail = {capture.nodes.size() - 1};
  return Status::Success;
}

Status wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (stream->capture != nullptr && stream->capture != event.capture) {
    return invalidate(*stream->capture, kCaptureIsolation);
  }
  Capture& capture = *event.capture;
  if (capture.has_ended) return kCapturedEvent;
  if (!capture.is_valid) return Status::CaptureInvalidated;
  if (stream->capture == nullptr) join(stream, event.capture);
  add_dependences(stream->tail, event.tail);
  return Status::Success;
}

void leave_capture(Stream& stream) {
  Capture& capture = *stream.capture;
  capture.is_valid = false;
  if (stream.is_origin) return end(capture);
  leave(stream);
}

Status reject_captured(const Stream& stream) {
  if (stream.capture == nullptr) return Status::Success;
  return invalidate(*stream.capture, Status::CaptureUnsupported);
}

Status reject_in_capture() {
  Status status = Status::Success;
  for (const std::shared_ptr<Capture>& capture : state().captures) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool forbids = capture->mode == CaptureMode::Global ||
                         (capture->mode == CaptureMode::ThreadLocal && is_own);
    if (forbids) status = invalidate(*capture, Status::CaptureUnsupported);
  }
  return status;
}

Status run_graph(const Graph& graph, bool is_last_first) {
  std::vector<std::size_t> waits_for(graph.size());
  std::vector<std::vector<std::size_t>> after(graph.size());
  std::vector<std::size_t> ready;  // ascending
  for (std::size_t i = 0; i < graph.size(); ++i) {
    waits_for[i] = graph[i].dependencies.size();
    if (waits_for[i] == 0) ready.push_back(i);
    for (const std::size_t before : graph[i].dependencies) after[before].push_back(i);
  }
  while (!ready.empty()) {
    const auto next = is_last_first ? ready.end() - 1 : ready.begin();
    const std::size_t node = *next;
    ready.erase(next);
    const Status status = graph[node].operation.run();
    if (status != Status::Success) return status;
    for (const std::size_t one : after[node]) {
      if (--waits_for[one] == 0) {
        ready.insert(std::lower_bound(ready.begin(), ready.end(), one), one);
      }
    }
  }
  return Status::Success;
}

GraphUpdateResult compare_graphs(const Graph& from, const Graph& to) {
  if (from.size() != to.size()) return GraphUpdateResult::TopologyChanged;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].dependencies != to[i].dependencies) return GraphUpdateResult::TopologyChanged;
    if (from[i].operation.kind != to[i].operation.kind) return GraphUpdateResult::NodeTypeChanged;
  }
  return GraphUpdateResult::Success;
}

}  // namespace kiln::fake_cuda
