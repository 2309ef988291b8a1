// Loads programs and allocates tensors of an instance.
#include "backends/cuda/cuda_target.h"

#include "backends/cuda/execute/device_executable.h"

namespace kiln::cuda {

std::unique_ptr<sdk::Executable> CudaTarget::load(codegen::LoweredModule lowered,
                                                  const sdk::Host& host) {
  const DeviceLibraries libraries{*libraries_.compiler, libraries_.matmuls.library.get(),
                                  *libraries_.convolutions, *libraries_.transpositions};
  return load_program(std::move(lowered), *this, libraries, resources_, host);
}

std::unique_ptr<sdk::Buffer> CudaInstance::allocate(std::uint32_t dtype, sdk::Dims dims) {
  return std::make_unique<DeviceBuffer>(dtype, dims, resources_);
}

/// Always copies: device memory cannot alias host memory, even where the semantics allow it.
std::unique_ptr<sdk::Buffer> CudaInstance::import_host(const void* data, std::uint32_t dtype,
                                                       sdk::Dims dims, std::uint32_t) {
  auto buffer = std::make_unique<DeviceBuffer>(dtype, dims, resources_);
  buffer->copy_from_host(data);
  return buffer;
}

}  // namespace kiln::cuda
