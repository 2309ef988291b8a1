// Captures and graphs.
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"

namespace kiln::fake_cuda::entry {

Status stream_begin_capture(StreamHandle handle, CaptureMode mode) {
  const std::shared_ptr<Stream> stream = state().streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  if (stream->capture != nullptr) return Status::InvalidValue;
  begin_capture(stream, mode);
  return Status::Success;
}

Status stream_end_capture(StreamHandle handle, GraphHandle* graph) {
  if (graph == nullptr) return Status::InvalidValue;
  *graph = nullptr;
  const std::shared_ptr<Stream> stream = state().streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  if (stream->capture == nullptr) return Status::InvalidValue;
  std::shared_ptr<Graph> captured;
  const Status status = end_capture(*stream, captured);
  if (status == Status::Success) *graph = state().graphs.add(std::move(captured));
  return status;
}

Status graph_instantiate(GraphExecHandle* handle, GraphHandle graph_handle,
                         unsigned long long flags) {
  if (handle == nullptr || flags != 0) return Status::InvalidValue;
  const std::shared_ptr<Graph> graph = state().graphs.find(graph_handle);
  if (graph == nullptr) return Status::InvalidHandle;
  *handle =
      state().executable_graphs.add(std::make_shared<ExecutableGraph>(ExecutableGraph{graph}));
  return Status::Success;
}

Status graph_launch(GraphExecHandle handle, StreamHandle stream_handle) {
  State& all = state();
  const std::shared_ptr<ExecutableGraph> executable = all.executable_graphs.find(handle);
  const std::shared_ptr<Stream> stream = all.streams.find(stream_handle);
  if (executable == nullptr || stream == nullptr) return Status::InvalidHandle;
  // Graphs inside of graphs are nothing that the plugin uses.
  const Status status = reject_captured(*stream);
  if (status != Status::Success) return status;
  // A later update changes later launches alone.
  const std::shared_ptr<const Graph> graph = executable->graph;
  const bool is_last_first = all.next_is_reversed();
  return all.streams.enqueue(*stream, {OperationKind::Graph, [graph, is_last_first] {
                                         return run_graph(*graph, is_last_first);
                                       }});
}

Status graph_destroy(GraphHandle handle) {
  return state().graphs.take(handle) != nullptr ? Status::Success : Status::InvalidHandle;
}

Status graph_exec_update(GraphExecHandle handle, GraphHandle graph_handle,
                         GraphUpdateInfo* information) {
  const std::shared_ptr<ExecutableGraph> executable = state().executable_graphs.find(handle);
  const std::shared_ptr<Graph> graph = state().graphs.find(graph_handle);
  if (executable == nullptr || graph == nullptr) return Status::InvalidHandle;
  if (information == nullptr) return Status::InvalidValue;
  *information = {.result = compare_graphs(*executable->graph, *graph)};
  if (information->result != GraphUpdateResult::Success) return Status::GraphExecUpdateFailure;
  executable->graph = graph;
  return Status::Success;
}

Status graph_exec_destroy(GraphExecHandle handle) {
  const bool is_known = state().executable_graphs.take(handle) != nullptr;
  return is_known ? Status::Success : Status::InvalidHandle;
}

Status graph_debug_dot_print(GraphHandle, const char*, GraphDotFlags) {
  return Status::NotSupported;
}

Status graph_conditional_handle_create(ConditionalHandle*, GraphHandle, ContextHandle, unsigned,
                                       unsigned) {
  return Status::NotSupported;
}

}  // namespace kiln::fake_cuda::entry
