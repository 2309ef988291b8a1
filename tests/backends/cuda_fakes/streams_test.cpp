// Tests when operations of streams run, and in which order.
#include "tests/backends/cuda_fakes/gpu_test.h"

#include <thread>

using namespace kiln::fake_cuda;

TEST_CASE("fake driver: nothing runs until the host waits") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const HostNumbers in(gpu, {1, 2}), out(gpu, 2);
  const DeviceMemory memory(gpu, stream, in.bytes());
  require_success(upload(gpu, memory, in, stream));
  require_success(download(gpu, out, memory, stream));
  CHECK(out.all() == std::vector<int>{kPoisoned, kPoisoned});
  CHECK(gpu.control.usage().pending_operations == 3);
  in[1] = 5;  // read when the copy runs
  require_success(gpu->stream_synchronize(stream));
  CHECK(out.all() == std::vector<int>{1, 5});
  CHECK(gpu.control.usage().pending_operations == 0);
}

TEST_CASE("fake driver: a query answers NotReady once, and then runs the operations") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers in(gpu, {7}), out(gpu, 1);
  const DeviceMemory memory(gpu, stream, in.bytes());
  CHECK(gpu->event_query(event) == Status::Success);  // not recorded yet
  require_success(upload(gpu, memory, in, stream));
  require_success(gpu->event_record(event, stream));
  require_success(download(gpu, out, memory, stream));
  CHECK(gpu->event_query(event) == Status::NotReady);
  CHECK(gpu->event_query(event) == Status::Success);
  CHECK(gpu->event_query(event) == Status::Success);
  CHECK(gpu->stream_query(stream) == Status::NotReady);
  CHECK(out[0] == kPoisoned);
  CHECK(gpu->stream_query(stream) == Status::Success);
  CHECK(out[0] == 7);
  require_success(download(gpu, out, memory, stream));
  CHECK(gpu->stream_query(stream) == Status::NotReady);
  CHECK(gpu->stream_query(stream) == Status::Success);
}

TEST_CASE("fake driver: a wait runs what it needs and nothing else") {
  const Gpu gpu(kFolder);
  const auto one = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers in(gpu, {3}), early(gpu, 1), late(gpu, 1), foreign(gpu, 1);
  const DeviceMemory memory(gpu, one, in.bytes());
  require_success(upload(gpu, memory, in, one));
  require_success(download(gpu, early, memory, one));
  require_success(gpu->event_record(event, one));
  require_success(download(gpu, late, memory, one));
  require_success(gpu->stream_wait_event(other, event, 0));
  require_success(download(gpu, foreign, memory, other));
  require_success(gpu->event_synchronize(event));
  CHECK(early[0] == 3);
  CHECK(late[0] == kPoisoned);
  CHECK(foreign[0] == kPoisoned);
  require_success(gpu->stream_synchronize(other));
  CHECK(foreign[0] == 3);
  CHECK(late[0] == kPoisoned);
  require_success(gpu->stream_synchronize(one));
  CHECK(late[0] == 3);
}

TEST_CASE("fake driver: streams without an event between them are not ordered") {
  const Gpu gpu(kFolder);
  const auto one = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers in(gpu, {3}), out(gpu, 1);
  const DeviceMemory memory(gpu, one, in.bytes());
  require_success(gpu->stream_synchronize(one));
  require_success(upload(gpu, memory, in, one));
  SECTION("without") {}
  SECTION("the event is recorded after the wait") {
    require_success(gpu->stream_wait_event(other, event, 0));
    require_success(gpu->event_record(event, one));
  }
  require_success(download(gpu, out, memory, other));
  require_success(gpu->stream_synchronize(other));
  CHECK(out[0] == kPoisoned);
}

TEST_CASE("fake driver: a wait is for the record that the event had then") {
  const Gpu gpu(kFolder);
  const auto one = make_stream(gpu), other = make_stream(gpu);
  auto event = make_event(gpu);
  const HostNumbers in(gpu, {3}), out(gpu, 1), late(gpu, 1);
  const DeviceMemory memory(gpu, one, in.bytes());
  require_success(upload(gpu, memory, in, one));
  require_success(gpu->event_record(event, one));
  require_success(gpu->stream_wait_event(other, event, 0));
  require_success(download(gpu, late, memory, one));
  require_success(gpu->event_record(event, one));
  require_success(event.reset());
  require_success(download(gpu, out, memory, other));
  require_success(gpu->stream_synchronize(other));
  CHECK(out[0] == 3);
  CHECK(late[0] == kPoisoned);
}

TEST_CASE("fake driver: streams that wait for each other in turn") {
  const Gpu gpu(kFolder);
  const auto one = make_stream(gpu), other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers in(gpu, {9}), out(gpu, 1);
  const DeviceMemory memory(gpu, one, in.bytes());
  require_success(upload(gpu, memory, in, one));
  for (int i = 0; i < 100; ++i) {
    require_success(gpu->event_record(event, i % 2 == 0 ? one : other));
    require_success(gpu->stream_wait_event(i % 2 == 0 ? other : one, event, 0));
  }
  require_success(download(gpu, out, memory, one));
  require_success(gpu->stream_synchronize(one));
  CHECK(out[0] == 9);
}

TEST_CASE("fake driver: the operations of a destroyed stream stay") {
  const Gpu gpu(kFolder);
  auto one = make_stream(gpu);
  const auto other = make_stream(gpu);
  const auto event = make_event(gpu);
  const HostNumbers in(gpu, {4}), out(gpu, 1);
  const DeviceMemory memory(gpu, other, in.bytes());
  require_success(gpu->stream_synchronize(other));
  require_success(upload(gpu, memory, in, one));
  require_success(gpu->event_record(event, one));
  const StreamHandle destroyed = one;
  require_success(one.reset());
  CHECK(gpu->stream_synchronize(destroyed) == Status::InvalidHandle);
  CHECK(gpu->stream_destroy(destroyed) == Status::InvalidHandle);
  CHECK(gpu.control.usage().pending_operations == 2);
  require_success(gpu->stream_wait_event(other, event, 0));
  require_success(download(gpu, out, memory, other));
  require_success(gpu->stream_synchronize(other));
  CHECK(out[0] == 4);
}

TEST_CASE("fake driver: the time between events") {
  const Gpu gpu(kFolder);
  const auto stream = make_stream(gpu);
  const auto begin = make_event(gpu), end = make_event(gpu);
  const auto untimed = make_event(gpu, EventFlags::DisableTiming);
  float time = -1;
  CHECK(gpu->event_elapsed_time(&time, begin, end) == Status::InvalidHandle);
  require_success(gpu->event_record(begin, stream));
  require_success(gpu->event_record(untimed, stream));
  require_success(gpu->event_record(end, stream));
  CHECK(gpu->event_elapsed_time(&time, begin, end) == Status::NotReady);
  require_success(gpu->event_synchronize(end));
  require_success(gpu->event_elapsed_time(&time, begin, end));
  CHECK(time >= 0);
  CHECK(gpu->event_elapsed_time(&time, begin, untimed) == Status::InvalidHandle);
}

TEST_CASE("fake driver: there is no null stream") {
  const Gpu gpu(kFolder);
  const auto event = make_event(gpu);
  DeviceAddress address = 0;
  CHECK(gpu->mem_alloc_async(&address, 64, nullptr) == Status::InvalidHandle);
  CHECK(gpu->memset_8_async(0, 0, 0, nullptr) == Status::InvalidHandle);
  CHECK(gpu->event_record(event, nullptr) == Status::InvalidHandle);
  CHECK(gpu->stream_synchronize(nullptr) == Status::InvalidHandle);
  CHECK(gpu->event_synchronize(nullptr) == Status::InvalidHandle);
}

TEST_CASE("fake driver: several threads with streams of their own", "[concurrency]") {
  const Gpu gpu(kFolder);
  std::vector<std::thread> threads;
  std::vector<int> sums(4);
  for (std::size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      gpu->ctx_set_current(gpu.context);
      StreamHandle stream = nullptr;
      void* host = nullptr;
      gpu->stream_create(&stream, StreamFlags::NonBlocking);
      gpu->mem_host_alloc(&host, sizeof(int), HostMemoryFlags::Portable);
      for (int i = 1; i <= 50; ++i) {
        DeviceAddress memory = 0;
        gpu->mem_alloc_async(&memory, sizeof(int), stream);
        gpu->memset_32_async(memory, static_cast<unsigned>(i), 1, stream);
        gpu->memcpy_device_to_host_async(host, memory, sizeof(int), stream);
        gpu->mem_free_async(memory, stream);
        gpu->stream_synchronize(stream);
        sums[t] += *static_cast<int*>(host);
      }
      gpu->mem_free_host(host);
      gpu->stream_destroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<int>(4, 50 * 51 / 2));
}
