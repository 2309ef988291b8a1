// Compiles programs without a device: every stage can be dumped, no program can be called.
#pragma once

#include "backends/codegen/compile.h"
#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/cuda_options.h"

namespace kiln::cuda {

/// Opens NVRTC for the option `arch`, without the limit of a driver. Throws sdk::Failure: as
/// api::open_compiler(), and INVALID_ARGUMENT if it cannot compile for that architecture.
/// REQUIRES: the option is set.
std::shared_ptr<const api::Compiler> open_offline_compiler(const CudaOptions& options,
                                                           api::Messages& messages);

/// Schedules kernels for the limits of an H100 (the defaults of GridDescription) on every
/// architecture, and compiles them for the architecture of the option `arch`.
class OfflineInstance final : public codegen::CompiledInstance {
 public:
  OfflineInstance(std::shared_ptr<const api::Compiler> compiler, int architecture,
                  const sdk::Host& host);

  /// Throw sdk::Failure of FAILED_PRECONDITION.
  std::unique_ptr<sdk::Buffer> allocate(std::uint32_t dtype, sdk::Dims dims) override;
  std::unique_ptr<sdk::Buffer> import_host(const void* data, std::uint32_t dtype, sdk::Dims dims,
                                           std::uint32_t semantics) override;

 private:
  int architecture_;
};

}  // namespace kiln::cuda
