// Loads programs and allocates tensors of an instance.
#include "backends/cuda/cuda_target.h"

#include "backends/cuda/execute/device_executable.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::cuda {
namespace {

/// Refuses calls of the host that run a collective: they copy through host memory at each call.
void require_no_collectives(const ir::Graph& graph) {
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    if (node->op != ir::Op::HostCall) continue;
    if (!node->as<ir::HostCallAttrs>().function.starts_with("collective_")) continue;
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                       text(node->origin.function,
                            ": collectives run on cuda only through host memory, which needs the "
                            "option collectives (KILN_CUDA_COLLECTIVES) to be host"));
  }
}

}  // namespace

std::unique_ptr<sdk::Executable> CudaTarget::load(codegen::LoweredModule lowered,
                                                  const sdk::Host& host) {
  if (!resources_.collectives_through_host) require_no_collectives(lowered.module.graph);
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
