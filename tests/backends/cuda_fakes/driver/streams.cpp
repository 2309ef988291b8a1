// An operation that fails ends the context, which drops all others.
#include "tests/backends/cuda_fakes/driver/streams.h"

#include "tests/backends/cuda_fakes/driver/capture.h"
#include "tests/backends/cuda_fakes/driver/state.h"

#include <thread>

namespace kiln::fake_cuda {

Status Streams::enqueue(Stream& stream, Operation operation) {
  if (stream.capture != nullptr) return add_node(stream, std::move(operation));
  stream.pending.push_back(std::move(operation));
  stream.was_queried = false;
  return Status::Success;
}

/// LaunchTimeout, which ends the context, where the wait would have no end.
Status Streams::wait_for_next(const Stream& stream) {
  const Operation& next = stream.pending.front();
  if (next.is_ready == nullptr) return Status::Success;
  constexpr std::chrono::microseconds kPause(50);
  for (Readiness found = next.is_ready(); found != Readiness::Ready; found = next.is_ready()) {
    if (found == Readiness::Never) return Status::LaunchTimeout;
    std::this_thread::sleep_for(kPause);
  }
  return Status::Success;
}

Status Streams::run_next(Stream& stream) {
  const Status ready = wait_for_next(stream);
  if (ready != Status::Success) {
    state().lose(ready);
    return ready;
  }
  const Operation operation = std::move(stream.pending.front());
  stream.pending.pop_front();
  const Status status = operation.run();
  if (status != Status::Success) state().lose(status);
  return status;
}

Status Streams::run(Stream& stream) {
  while (!stream.pending.empty()) {
    const Status status = run_next(stream);
    if (status != Status::Success) return status;
  }
  return Status::Success;
}

Status Streams::run_what_is_ready(Stream& stream, const EventRecord* end) {
  while (!stream.pending.empty()) {
    if (end != nullptr && end->is_done) break;
    const Operation& next = stream.pending.front();
    if (next.is_ready != nullptr && next.is_ready() != Readiness::Ready) return Status::NotReady;
    const Status status = run_next(stream);
    if (status != Status::Success) return status;
  }
  return Status::Success;
}

Status Streams::run_to(EventRecord& record) {
  const std::shared_ptr<Stream> stream = record.stream;
  while (!record.is_done && !stream->pending.empty()) {
    const Status status = run_next(*stream);
    if (status != Status::Success) return status;
  }
  return Status::Success;
}

Status Streams::run_all() {
  for (const std::shared_ptr<Stream>& stream : with_operations()) {
    const Status status = run(*stream);
    if (status != Status::Success) return status;
  }
  destroyed_.clear();
  return Status::Success;
}

bool Streams::destroy(StreamHandle handle) {
  const std::shared_ptr<Stream> stream = take(handle);
  if (stream == nullptr) return false;
  if (stream->capture != nullptr) leave_capture(*stream);
  std::erase_if(destroyed_, [](const auto& one) { return one->pending.empty(); });
  if (!stream->pending.empty()) destroyed_.push_back(stream);
  return true;
}

void Streams::drop() {
  for (const std::shared_ptr<Stream>& stream : with_operations()) stream->pending.clear();
  destroyed_.clear();
}

std::size_t Streams::pending() const {
  std::size_t count = 0;
  for (const std::shared_ptr<Stream>& stream : with_operations()) count += stream->pending.size();
  return count;
}

std::vector<std::shared_ptr<Stream>> Streams::with_operations() const {
  std::vector<std::shared_ptr<Stream>> list;
  for (const auto& [handle, stream] : all()) {
    if (!stream->pending.empty()) list.push_back(stream);
  }
  for (const auto& stream : destroyed_) {
    if (!stream->pending.empty()) list.push_back(stream);
  }
  return list;
}

}  // namespace kiln::fake_cuda
