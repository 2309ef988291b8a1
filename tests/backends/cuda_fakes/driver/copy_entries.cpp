// Page-locked memory, copies and fills. Host memory is read and written when the operation runs.
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <cstring>

namespace kiln::fake_cuda {
namespace {

/// Queues `work`, which looks up its ranges when it runs, and fails where one is not live.
Status enqueue(StreamHandle handle, OperationKind kind, std::function<Status()> work) {
  const std::shared_ptr<Stream> stream = state().streams.find(handle);
  if (stream == nullptr) return Status::InvalidHandle;
  return state().streams.enqueue(*stream, {kind, std::move(work)});
}

Status copy_bytes(void* to, const void* from, std::size_t bytes) {
  const bool is_live = to != nullptr && from != nullptr;
  if (!is_live) return Status::IllegalAddress;
  std::memcpy(to, from, bytes);
  return Status::Success;
}

const void* host_bytes(const void* address, std::size_t bytes) {
  return state().host.has(address, bytes) ? address : nullptr;
}

bool overlap(DeviceAddress one, DeviceAddress other, std::size_t bytes) {
  return one < other + bytes && other < one + bytes;
}

template <class Element>
Status fill(DeviceAddress address, Element value, std::size_t count, StreamHandle stream) {
  if (address % sizeof(Element) != 0) return Status::InvalidValue;
  return enqueue(stream, OperationKind::Memset, [=] {
    std::byte* to = state().device_bytes(address, count * sizeof(Element));
    if (to == nullptr) return Status::IllegalAddress;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to + i * sizeof(Element), &value, sizeof(Element));
    }
    return Status::Success;
  });
}

}  // namespace

namespace entry {

Status mem_host_alloc(void** address, std::size_t bytes, HostMemoryFlags flags) {
  const bool has_flags = flags == HostMemoryFlags{} || flags == HostMemoryFlags::Portable;
  if (address == nullptr || bytes == 0 || !has_flags) return Status::InvalidValue;
  const Status status = reject_in_capture();
  if (status == Status::Success) *address = state().host.allocate(bytes);
  if (lie("cuMemHostAlloc")) *address = nullptr;
  return status;
}

Status mem_free_host(void* address) {
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  return state().host.free(address) ? Status::Success : Status::InvalidValue;
}

Status memcpy_host_to_device_async(DeviceAddress to, const void* from, std::size_t bytes,
                                   StreamHandle stream) {
  if (!state().host.has(from, bytes)) return Status::InvalidValue;
  return enqueue(stream, OperationKind::HostToDevice, [=] {
    return copy_bytes(state().device_bytes(to, bytes), host_bytes(from, bytes), bytes);
  });
}

Status memcpy_device_to_host_async(void* to, DeviceAddress from, std::size_t bytes,
                                   StreamHandle stream) {
  if (!state().host.has(to, bytes)) return Status::InvalidValue;
  return enqueue(stream, OperationKind::DeviceToHost, [=] {
    void* destination = state().host.has(to, bytes) ? to : nullptr;
    return copy_bytes(destination, state().device_bytes(from, bytes), bytes);
  });
}

Status memcpy_device_to_device_async(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                                     StreamHandle stream) {
  if (overlap(to, from, bytes)) return Status::InvalidValue;
  return enqueue(stream, OperationKind::DeviceToDevice, [=] {
    return copy_bytes(state().device_bytes(to, bytes), state().device_bytes(from, bytes), bytes);
  });
}

Status memset_8_async(DeviceAddress address, unsigned char value, std::size_t count,
                      StreamHandle stream) {
  return fill(address, value, count, stream);
}

Status memset_32_async(DeviceAddress address, unsigned value, std::size_t count,
                       StreamHandle stream) {
  return fill(address, value, count, stream);
}

}  // namespace entry
}  // namespace kiln::fake_cuda
