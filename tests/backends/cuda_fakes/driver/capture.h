// Captures of streams, and the graphs that they make.
#pragma once

#include "tests/backends/cuda_fakes/driver/streams.h"

#include <thread>

namespace kiln::fake_cuda {

/// Statuses of captures that the plugin has no name for (name, NVIDIA's name, value).
#define FAKE_CUDA_CAPTURE_STATUS(X)                             \
  X(CaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903) \
  X(CaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904)   \
  X(CaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905) \
  X(CapturedEvent, CUDA_ERROR_CAPTURED_EVENT, 907)              \
  X(CaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908)

#define FAKE_CUDA_STATUS(name, symbol, value) inline constexpr Status k##name{value};
FAKE_CUDA_CAPTURE_STATUS(FAKE_CUDA_STATUS)
#undef FAKE_CUDA_STATUS

struct GraphNode {
  Operation operation;
  std::vector<std::size_t> dependencies;  // nodes before this one
};
using Graph = std::vector<GraphNode>;

struct Capture {
  CaptureMode mode = CaptureMode::Global;
  std::thread::id thread;
  bool is_valid = true, has_ended = false;
  Graph nodes;
  std::vector<std::weak_ptr<Stream>> streams;
};

/// All functions REQUIRE: the lock of state() is held.
void begin_capture(const std::shared_ptr<Stream>& stream, CaptureMode mode);
/// `graph` is null unless this succeeds. The capture is over in any case.
Status end_capture(Stream& stream, std::shared_ptr<Graph>& graph);
/// Adds a node at the stream's end. REQUIRES: the stream is captured.
Status add_node(Stream& stream, Operation operation);
/// An event recorded outside of a capture cannot be waited for inside of one. REQUIRES: one of the
/// two is part of a capture.
Status wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event);
/// Invalidates the stream's capture, and takes the stream out of it.
void leave_capture(Stream& stream);
/// CaptureUnsupported, and the capture is invalid, for a stream that is captured.
Status reject_captured(const Stream& stream);
/// The same for calls that no stream orders, while a capture forbids them to this thread.
Status reject_in_capture();

/// Runs the nodes in an order that their dependences allow: of those that are ready, the one that
/// was captured first, or last.
Status run_graph(const Graph& graph, bool is_last_first);
/// The first difference that forbids updating an executable graph of `from` to `to`; Success: none.
GraphUpdateResult compare_graphs(const Graph& from, const Graph& to);

}  // namespace kiln::fake_cuda
