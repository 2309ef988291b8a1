// A device as a target of backends/codegen, and the instance that owns it.
#pragma once

#include "backends/codegen/compile.h"
#include "backends/codegen/grid/shape_kernel.h"
#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/libraries/open_matmuls.h"

namespace kiln::cuda {

/// Compiles kernels by NVRTC and claims matmuls for cuBLASLt.
class CudaTarget final : public codegen::Target {
 public:
  CudaTarget(DeviceResources resources, std::shared_ptr<const api::Compiler> compiler,
             Matmuls matmuls)
      : resources_(std::move(resources)),
        compiler_(std::move(compiler)),
        matmuls_(std::move(matmuls)) {}

  codegen::TargetDescription description() const override { return resources_.device->target(); }
  codegen::KernelSchedule schedule() const override { return codegen::shape_for_grid; }
  const codegen::LibraryClaims* claims() override { return matmuls_.claims.get(); }
  std::unique_ptr<sdk::Executable> load(codegen::LoweredModule lowered,
                                        const sdk::Host& host) override;

 private:
  DeviceResources resources_;
  std::shared_ptr<const api::Compiler> compiler_;
  Matmuls matmuls_;
};

/// An instance whose tensors are in device memory.
class CudaInstance final : public codegen::CompiledInstance {
 public:
  CudaInstance(const DeviceResources& resources, std::shared_ptr<const api::Compiler> compiler,
               Matmuls matmuls, const sdk::Host& host)
      : CompiledInstance(
            std::make_unique<CudaTarget>(resources, std::move(compiler), std::move(matmuls)), host),
        resources_(resources) {}

  std::unique_ptr<sdk::Buffer> allocate(std::uint32_t dtype, sdk::Dims dims) override;
  std::unique_ptr<sdk::Buffer> import_host(const void* data, std::uint32_t dtype, sdk::Dims dims,
                                           std::uint32_t semantics) override;

 private:
  DeviceResources resources_;
};

}  // namespace kiln::cuda
