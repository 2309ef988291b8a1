// Streams and events.
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

namespace kiln::fake_cuda {
namespace {

/// Pools give back memory above their thresholds when the host waits.
Status after_wait(Status status) {
  if (status == Status::Success) state().pools.trim();
  return status;
}

/// Waiting is possible neither for a stream that is captured nor while a capture forbids it.
Status check_wait(const Stream& stream) {
  const Status status = reject_captured(stream);
  return status != Status::Success ? status : reject_in_capture();
}
Status check_wait(const Event& event) {
  const Status status = reject_in_capture();
  if (status != Status::Success || event.capture == nullptr) return status;
  event.capture->is_valid = false;
  return kCapturedEvent;
}

void record_now(const std::shared_ptr<EventRecord>& record) {
  record->is_done = true;
  record->time = std::chrono::steady_clock::now();
}

}  // namespace

namespace entry {

Status stream_create(StreamHandle* handle, StreamFlags flags) {
  const bool has_flags = flags == StreamFlags::Default || flags == StreamFlags::NonBlocking;
  if (handle == nullptr || !has_flags) return Status::InvalidValue;
  *handle = state().streams.add(std::make_shared<Stream>());
  return Status::Success;
}

Status stream_destroy(StreamHandle handle) {
  return state().streams.destroy(handle) ? Status::Success : Status::InvalidHandle;
}

Status stream_synchronize(StreamHandle handle) {
  const std::shared_ptr<Stream> stream = state().streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  const Status status = check_wait(*stream);
  return status != Status::Success ? status : after_wait(state().streams.run(*stream));
}

Status stream_query(StreamHandle handle) {
  const std::shared_ptr<Stream> stream = state().streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  const Status status = check_wait(*stream);
  if (status != Status::Success || stream->pending.empty()) return status;
  if (!std::exchange(stream->was_queried, true)) return Status::NotReady;
  return after_wait(state().streams.run_what_is_ready(*stream));
}

Status stream_wait_event(StreamHandle handle, EventHandle event_handle, unsigned flags) {
  State& all = state();
  const std::shared_ptr<Stream> stream = all.streams.find(handle);
  const std::shared_ptr<Event> event = all.events.find(event_handle);
  if (stream == nullptr || event == nullptr) return Status::InvalidHandle;
  if (flags != 0) return Status::InvalidValue;
  const std::shared_ptr<EventRecord> record = event->record;
  if (event->capture == nullptr && record == nullptr) return Status::Success;
  const bool is_captured = event->capture != nullptr || stream->capture != nullptr;
  if (is_captured) return wait_in_capture(stream, *event);
  return all.streams.enqueue(
      *stream, {OperationKind::Wait, [record] { return state().streams.run_to(*record); }});
}

Status event_create(EventHandle* handle, EventFlags flags) {
  constexpr auto kKnown = static_cast<std::uint32_t>(EventFlags::BlockingSync) |
                          static_cast<std::uint32_t>(EventFlags::DisableTiming);
  const bool has_flags = (static_cast<std::uint32_t>(flags) & ~kKnown) == 0;
  if (handle == nullptr || !has_flags) return Status::InvalidValue;
  auto event = std::make_shared<Event>();
  event->flags = flags;
  *handle = state().events.add(std::move(event));
  return Status::Success;
}

Status event_record(EventHandle handle, StreamHandle stream_handle) {
  State& all = state();
  const std::shared_ptr<Event> event = all.events.find(handle);
  const std::shared_ptr<Stream> stream = all.streams.find(stream_handle);
  if (stream == nullptr || event == nullptr) return Status::InvalidHandle;
  if (stream->capture != nullptr && !stream->capture->is_valid) return Status::CaptureInvalidated;
  event->capture = stream->capture;
  event->tail = stream->tail;
  event->record = nullptr;
  if (stream->capture != nullptr) return Status::Success;
  const auto record = std::make_shared<EventRecord>();
  record->stream = stream;
  event->record = record;
  return all.streams.enqueue(*stream, {OperationKind::Record, [record] {
                                         record_now(record);
                                         return Status::Success;
                                       }});
}

Status event_query(EventHandle handle) {
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (event == nullptr) return Status::InvalidHandle;
  const Status status = check_wait(*event);
  const std::shared_ptr<EventRecord> record = event->record;
  const bool is_done = record == nullptr || record->is_done;
  if (status != Status::Success || is_done) return status;
  if (!std::exchange(record->was_queried, true)) return Status::NotReady;
  const Status ran = state().streams.run_what_is_ready(*record->stream, record.get());
  return after_wait(ran);
}

Status event_synchronize(EventHandle handle) {
  const std::shared_ptr<Event> event = state().events.find(handle);
  if (event == nullptr) return Status::InvalidHandle;
  const Status status = check_wait(*event);
  if (status != Status::Success || event->record == nullptr) return status;
  return after_wait(state().streams.run_to(*event->record));
}

Status event_elapsed_time(float* milliseconds, EventHandle begin_handle, EventHandle end_handle) {
  State& all = state();
  if (milliseconds == nullptr) return Status::InvalidValue;
  const std::shared_ptr<Event> begin = all.events.find(begin_handle);
  const std::shared_ptr<Event> end = all.events.find(end_handle);
  const auto has_time = [](const std::shared_ptr<Event>& event) {
    if (event == nullptr || event->record == nullptr) return false;
    const auto flag = static_cast<std::uint32_t>(EventFlags::DisableTiming);
    return (static_cast<std::uint32_t>(event->flags) & flag) == 0;
  };
  if (!has_time(begin) || !has_time(end)) return Status::InvalidHandle;
  if (!begin->record->is_done || !end->record->is_done) return Status::NotReady;
  const std::chrono::duration<float, std::milli> elapsed = end->record->time - begin->record->time;
  *milliseconds = reported("cuEventElapsedTime", elapsed.count());
  return Status::Success;
}

Status event_destroy(EventHandle handle) {
  return state().events.take(handle) != nullptr ? Status::Success : Status::InvalidHandle;
}

}  // namespace entry
}  // namespace kiln::fake_cuda
