// Work of other libraries on streams.
#include "tests/backends/cuda_fakes/library_calls.h"

#include "tests/backends/cuda_fakes/driver/state.h"

#include <memory>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kiln::fake_cuda;

namespace {

/// REQUIRES: the lock of state() is held.
Status check_context() {
  if (current_context() == nullptr) return Status::InvalidContext;
  if (state().retained == 0) return Status::ContextIsDestroyed;
  return state().lost;
}

/// `is_ready`: null for work of this process alone.
Status enqueue(StreamHandle handle, std::function<Status()> work,
               std::function<Readiness()> is_ready = nullptr) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  const Status status = check_context();
  if (status != Status::Success) return status;
  const std::shared_ptr<Stream> stream = all.streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  if (is_ready != nullptr && stream->capture != nullptr) return reject_captured(*stream);
  return all.streams.enqueue(*stream,
                             {OperationKind::Kernel, std::move(work), std::move(is_ready)});
}

}  // namespace

FAKE_EXPORT int fake_cuda_check_context() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(check_context());
}

FAKE_EXPORT int fake_cuda_enqueue(void* stream, int (*run)(void* work), void* work,
                                  void (*destroy)(void*)) {
  const std::shared_ptr<void> owned(work, destroy);
  const auto handle = static_cast<StreamHandle>(stream);
  return static_cast<int>(
      enqueue(handle, [run, owned] { return static_cast<Status>(run(owned.get())); }));
}

FAKE_EXPORT int fake_cuda_enqueue_when_ready(void* stream, int (*is_ready)(void* work),
                                             int (*run)(void* work), void* work,
                                             void (*destroy)(void*)) {
  const std::shared_ptr<void> owned(work, destroy);
  return static_cast<int>(enqueue(
      static_cast<StreamHandle>(stream),
      [run, owned] { return static_cast<Status>(run(owned.get())); },
      [is_ready, owned] { return static_cast<Readiness>(is_ready(owned.get())); }));
}

FAKE_EXPORT std::byte* fake_cuda_device_bytes(std::uint64_t address, std::uint64_t bytes) {
  return state().device_bytes(address, bytes);
}
