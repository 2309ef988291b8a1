// Copies whole tensors on a leased stream.
#include "backends/cuda/device/device_buffer.h"

#include "core/types/text.h"

namespace kiln::cuda {
namespace {

DeviceMemory allocate(const sdk::Buffer& buffer, MemoryPool& pool, const std::string& source) {
  const ScopedContext context(*pool.device());
  const auto dtype = static_cast<DType>(buffer.dtype());
  return pool.allocate(static_cast<std::int64_t>(buffer.bytes()),
                       text(dtype, "[", join_text(buffer.dims(), ","), "]", source));
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::uint32_t dtype, sdk::Dims dims, const DeviceResources& resources,
                           const std::string& source)
    : Buffer(dtype, dims),
      resources_(resources),
      memory_(allocate(*this, *resources.memory, source)) {}

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
