// Stores a tensor in device memory; the host of the plugin owns it between calls.
#pragma once

#include "backends/cuda/device/memory_pool.h"
#include "backends/cuda/device/stream_pool.h"

namespace kiln::cuda {

/// The device, memory pool and streams that all programs of an instance share.
struct DeviceResources {
  std::shared_ptr<const Device> device;
  std::shared_ptr<MemoryPool> memory;
  std::shared_ptr<StreamPool> streams;
  bool uses_graphs = true;  // false: calls launch kernel by kernel, without CUDA graphs
};

/// A buffer that the host cannot map: host_data() is null. Every call synchronizes its stream
/// before it returns, so no queued work uses a buffer that the host reads or destroys.
class DeviceBuffer final : public sdk::Buffer {
 public:
  /// Allocates uninitialized memory. Throws sdk::Failure; out of memory, its text has dtype, dims,
  /// bytes and `source`, which begins with a space or is empty.
  DeviceBuffer(std::uint32_t dtype, sdk::Dims dims, const DeviceResources& resources,
               const std::string& source = "");

  api::DeviceAddress address() const { return memory_.address(); }
  const void* host_data() const override { return nullptr; }
  void copy_to_host(void* destination) const override;
  /// Copies bytes() from `data` and synchronizes. Throws sdk::Failure.
  void copy_from_host(const void* data);

 private:
  DeviceResources resources_;
  DeviceMemory memory_;
};

/// Downcasts. REQUIRES: a buffer of this backend.
const DeviceBuffer& device_buffer(const sdk::Buffer& buffer);

}  // namespace kiln::cuda
