// Tests captures of streams, and launches of the graphs that they make.
#include "tests/backends/cuda_fakes/gpu_test.h"

#include <thread>

using namespace kiln::fake_cuda;

namespace {

Owned<GraphHandle> end_capture(const Gpu& gpu, StreamHandle stream) {
  GraphHandle graph = nullptr;
  require_success(gpu->stream_end_capture(stream, &graph));
  return {graph, gpu->graph_destroy};
}
Owned<GraphExecHandle> instantiate(const Gpu& gpu, GraphHandle graph) {
  GraphExecHandle executable = nullptr;
  require_success(gpu->graph_instantiate(&executable, graph, 0));
  return {executable, gpu->graph_exec_destroy};
}
void begin(const Gpu& gpu, StreamHandle stream, CaptureMode mode = CaptureMode::ThreadLocal) {
  require_success(gpu->stream_begin_capture(stream, mode));
}

/// The status of the end of a capture that fails.
Status failed_end(const Gpu& gpu, StreamHandle stream) {
  GraphHandle graph = nullptr;
  const Status status = gpu->stream_end_capture(stream, &graph);
  CHECK(graph == nullptr);
  return status;
}

std::uint32_t number(Status status) { return static_cast<std::uint32_t>(status); }

}  // namespace

TEST_CASE("fake driver: a capture records, and each launch of the graph runs") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers in(gpu, {1}), out(gpu, 1);
  const DeviceMemory memory(gpu, stream, in.bytes());
  begin(gpu, stream);
  require_success(upload(gpu, memory, in, stream));
  require_success(download(gpu, out, memory, stream));
  auto graph = end_capture(gpu, stream);
  auto executable = instantiate(gpu, graph);
  require_success(gpu->stream_synchronize(stream));
  CHECK(out[0] == kPoisoned);
  for (const int value : {5, 6}) {
    in[0] = value;
    require_success(gpu->graph_launch(executable, stream));
    require_success(gpu->stream_synchronize(stream));
    CHECK(out[0] == value);
  }
  in[0] = 7;
  require_success(gpu->graph_launch(executable, stream));
  require_success(graph.reset());
  require_success(executable.reset());  // what is queued still runs
  require_success(gpu->stream_synchronize(stream));
  CHECK(out[0] == 7);
}

TEST_CASE("fake driver: events take other streams into a capture") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto fork = make_event(gpu), join = make_event(gpu);
  const HostNumbers in(gpu, {1, 2}), out(gpu, 2);
  const DeviceMemory memory(gpu, stream, in.bytes());
  begin(gpu, stream);
  require_success(upload(gpu, memory, in, stream));
  require_success(gpu->event_record(fork, stream));
  require_success(gpu->stream_wait_event(other, fork, 0));
  require_success(gpu->memset_32_async(memory + 4, 20, 1, other));
  require_success(gpu->memset_32_async(memory, 10, 1, stream));
  require_success(gpu->event_record(join, other));
  CHECK(number(gpu->event_query(join)) == 900);  // not while a capture is on
  CHECK(number(failed_end(gpu, stream)) == 901);

  begin(gpu, stream);
  require_success(upload(gpu, memory, in, stream));
  require_success(gpu->event_record(fork, stream));
  require_success(gpu->stream_wait_event(other, fork, 0));
  require_success(gpu->memset_32_async(memory + 4, 20, 1, other));
  SECTION("a stream that does not come back") { CHECK(number(failed_end(gpu, stream)) == 904); }
  SECTION("a stream that the capture did not begin with cannot end it") {
    GraphHandle graph = nullptr;
    CHECK(number(gpu->stream_end_capture(other, &graph)) == 903);
    CHECK(number(failed_end(gpu, stream)) == 901);
  }
  SECTION("both streams") {
    require_success(gpu->memset_32_async(memory, 10, 1, stream));
    require_success(gpu->event_record(join, other));
    require_success(gpu->stream_wait_event(stream, join, 0));
    require_success(download(gpu, out, memory, stream));
    const auto graph = end_capture(gpu, stream);
    const auto executable = instantiate(gpu, graph);
    require_success(gpu->graph_launch(executable, stream));
    require_success(gpu->stream_synchronize(stream));
    CHECK(out.all() == std::vector<int>{10, 20});
    CHECK(number(gpu->event_query(join)) == 907);
    CHECK(number(gpu->stream_wait_event(other, join, 0)) == 907);
  }
  // Both streams work as before.
  require_success(gpu->memset_32_async(memory, 30, 1, stream));
  require_success(gpu->stream_synchronize(other));
  require_success(gpu->stream_synchronize(stream));
}

TEST_CASE("fake driver: nodes without a dependence run in both orders") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto fork = make_event(gpu), join = make_event(gpu);
  const HostNumbers out(gpu, 1);
  const DeviceMemory memory(gpu, stream, out.bytes());
  begin(gpu, stream);
  require_success(gpu->event_record(fork, stream));
  require_success(gpu->stream_wait_event(other, fork, 0));
  require_success(gpu->memset_32_async(memory, 1, 1, stream));
  require_success(gpu->memset_32_async(memory, 2, 1, other));
  require_success(gpu->event_record(join, other));
  require_success(gpu->stream_wait_event(stream, join, 0));
  require_success(download(gpu, out, memory, stream));
  const auto graph = end_capture(gpu, stream);
  const auto executable = instantiate(gpu, graph);
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    require_success(gpu->graph_launch(executable, stream));
    require_success(gpu->stream_synchronize(stream));
    sum += out[0];
  }
  CHECK(sum == 3);
}

TEST_CASE("fake driver: calls that a capture forbids make it invalid") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers host(gpu, 1);
  const DeviceMemory memory(gpu, stream, host.bytes());
  require_success(gpu->event_record(event, other));
  begin(gpu, stream);
  DeviceAddress address = 0;
  void* locked = nullptr;
  Status status = Status::Success;
  SECTION("waiting for the stream") { status = gpu->stream_synchronize(stream); }
  SECTION("a query of the stream") { status = gpu->stream_query(stream); }
  SECTION("waiting for another stream") { status = gpu->stream_synchronize(other); }
  SECTION("waiting for an event") { status = gpu->event_synchronize(event); }
  SECTION("allocating in the stream") { status = gpu->mem_alloc_async(&address, 4, stream); }
  SECTION("freeing in the stream") { status = gpu->mem_free_async(memory, stream); }
  SECTION("page-locked memory") {
    status = gpu->mem_host_alloc(&locked, 4, HostMemoryFlags::Portable);
  }
  CHECK(status == Status::CaptureUnsupported);
  CHECK(gpu->memset_8_async(memory, 0, 1, stream) == Status::CaptureInvalidated);
  CHECK(failed_end(gpu, stream) == Status::CaptureInvalidated);
  require_success(gpu->stream_synchronize(stream));
}

TEST_CASE("fake driver: captures and other threads") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto in_thread = [&](auto call) {
    Status status = Status::Success;
    std::thread([&] {
      gpu->ctx_set_current(gpu.context);
      status = call();
    }).join();
    return status;
  };
  const auto wait = [&] { return gpu->stream_synchronize(other); };
  begin(gpu, stream, CaptureMode::ThreadLocal);
  CHECK(in_thread(wait) == Status::Success);
  SECTION("waiting is allowed") { const auto graph = end_capture(gpu, stream); }
  SECTION("ending it is not") {
    GraphHandle graph = nullptr;
    CHECK(number(in_thread([&] { return gpu->stream_end_capture(stream, &graph); })) == 908);
    CHECK(failed_end(gpu, stream) == Status::CaptureInvalidated);
  }
  begin(gpu, stream, CaptureMode::Global);
  CHECK(in_thread(wait) == Status::CaptureUnsupported);
  CHECK(failed_end(gpu, stream) == Status::CaptureInvalidated);
}

TEST_CASE("fake driver: what a capture allows") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const HostNumbers host(gpu, 1);
  require_success(gpu->stream_begin_capture(stream, CaptureMode::Relaxed));
  CHECK(gpu->stream_begin_capture(stream, CaptureMode::Relaxed) == Status::InvalidValue);
  const DeviceMemory memory(gpu, other, host.bytes());
  require_success(download(gpu, host, memory, other));
  require_success(gpu->stream_synchronize(other));
  const auto graph = end_capture(gpu, stream);
  CHECK(gpu->stream_end_capture(stream, nullptr) == Status::InvalidValue);
  GraphHandle none = nullptr;
  CHECK(gpu->stream_end_capture(stream, &none) == Status::InvalidValue);
}

TEST_CASE("fake driver: events from outside of a capture") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  begin(gpu, stream);
  require_success(gpu->stream_wait_event(stream, event, 0));  // never recorded
  require_success(gpu->event_record(event, other));
  CHECK(number(gpu->stream_wait_event(stream, event, 0)) == 905);
  CHECK(failed_end(gpu, stream) == Status::CaptureInvalidated);
}

TEST_CASE("fake driver: updates of executable graphs") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers out(gpu, 1);
  const DeviceMemory memory(gpu, stream, out.bytes());
  const auto capture = [&](int value, bool copies) {
    begin(gpu, stream);
    require_success(gpu->memset_32_async(memory, static_cast<unsigned>(value), 1, stream));
    if (copies) require_success(download(gpu, out, memory, stream));
    if (!copies) require_success(gpu->memset_8_async(memory, 0, 1, stream));
    return end_capture(gpu, stream);
  };
  const auto first = capture(1, true), second = capture(2, true), different = capture(3, false);
  const auto executable = instantiate(gpu, first);
  require_success(gpu->graph_launch(executable, stream));
  GraphUpdateInfo information;
  require_success(gpu->graph_exec_update(executable, second, &information));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out[0] == 1);
  CHECK(gpu->graph_exec_update(executable, different, &information) ==
        Status::GraphExecUpdateFailure);
  CHECK(information.result == GraphUpdateResult::NodeTypeChanged);
  require_success(gpu->graph_launch(executable, stream));
  require_success(gpu->stream_synchronize(stream));
  CHECK(out[0] == 2);
  CHECK(gpu.control.usage().graphs == 3);
  CHECK(gpu.control.usage().executable_graphs == 1);
}

TEST_CASE("fake driver: parts of graphs that it lacks") {
  const Gpu gpu(kFolder);
  ConditionalHandle handle = 0;
  CHECK(gpu->graph_debug_dot_print(nullptr, "", GraphDotFlags::Verbose) == Status::NotSupported);
  CHECK(gpu->graph_conditional_handle_create(&handle, nullptr, nullptr, 0, 0) ==
        Status::NotSupported);
}
