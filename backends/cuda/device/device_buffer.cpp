// Copies of whole tensors.
#include "backends/cuda/device/device_buffer.h"

namespace kiln::cuda {
namespace {

DeviceMemory allocate(std::uint64_t bytes, MemoryPool& pool) {
  const ScopedContext context(*pool.device());
  return pool.allocate(static_cast<std::int64_t>(bytes), "a tensor");
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::uint32_t dtype, sdk::Dims dims, const DeviceResources& resources)
    : Buffer(dtype, dims), resources_(resources), memory_(allocate(bytes(), *resources.memory)) {}

void DeviceBuffer::copy_to_host(void* destination) const {
  if (bytes() == 0) return;
  const ScopedContext context(*resources_.device);
  StreamLease lease(*resources_.streams);
  lease.staging().download(destination, address(), memory_.bytes());
  lease.staging().finish();
}

void DeviceBuffer::copy_from_host(const void* data) {
  if (bytes() == 0) return;
  const ScopedContext context(*resources_.device);
  StreamLease lease(*resources_.streams);
  lease.staging().upload(address(), data, memory_.bytes());
  lease.staging().finish();
}

const DeviceBuffer& device_buffer(const sdk::Buffer& buffer) {
  return static_cast<const DeviceBuffer&>(buffer);
}

}  // namespace kiln::cuda
