// Implements codegen::Target for a CUDA device, and the instance that owns it.
#pragma once

#include "backends/codegen/compile.h"
#include "backends/codegen/grid/shape_kernel.h"
#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/attention_kernels.h"
#include "backends/cuda/execute/rank_kernels.h"
#include "backends/cuda/libraries/communicators.h"
#include "backends/cuda/libraries/device_claims.h"
#include "backends/cuda/libraries/device_cudnn.h"
#include "backends/cuda/libraries/open_matmuls.h"

namespace kiln::cuda {

/// The libraries of an instance.
struct InstanceLibraries {
  std::shared_ptr<const api::Compiler> compiler;
  Matmuls matmuls;
  std::shared_ptr<const DeviceCudnn> cudnn;
  std::shared_ptr<const AttentionKernels> attention_kernels;
  std::shared_ptr<const RankKernels> rank_kernels;  // for collectives
  std::shared_ptr<Communicators> communicators;  // null: the host runs collectives
};

/// Compiles kernels by NVRTC and claims matmuls for cuBLASLt, convolutions and attention for
/// cuDNN. Throws sdk::Failure for a program with collectives where NCCL is missing.
class CudaTarget final : public codegen::Target {
 public:
  CudaTarget(DeviceResources resources, InstanceLibraries libraries)
      : resources_(std::move(resources)),
        libraries_(std::move(libraries)),
        claims_(libraries_.matmuls.claims, libraries_.cudnn) {}

  codegen::TargetDescription description() const override {
    return codegen::target_of(resources_.device->grid());
  }
  codegen::LoopTransform loop_transform() const override { return codegen::shape_for_grid; }
  const codegen::LibraryClaims* claims() override { return &claims_; }
  std::unique_ptr<sdk::Executable> load(codegen::LoweredModule lowered,
                                        const sdk::Host& host) override;

 private:
  DeviceResources resources_;
  InstanceLibraries libraries_;
  DeviceClaims claims_;
};

/// An instance whose tensors are in device memory.
class CudaInstance final : public codegen::CompiledInstance {
 public:
  CudaInstance(const DeviceResources& resources, InstanceLibraries libraries, const sdk::Host& host)
      : CompiledInstance(std::make_unique<CudaTarget>(resources, std::move(libraries)), host),
        resources_(resources) {}

  std::unique_ptr<sdk::Buffer> allocate(std::uint32_t dtype, sdk::Dims dims) override;
  std::unique_ptr<sdk::Buffer> import_host(const void* data, std::uint32_t dtype, sdk::Dims dims,
                                           std::uint32_t semantics) override;

 private:
  DeviceResources resources_;
};

}  // namespace kiln::cuda
