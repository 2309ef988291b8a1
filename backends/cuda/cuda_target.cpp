// Loads programs and allocates tensors of an instance.
#include "backends/cuda/cuda_target.h"

#include "backends/cuda/execute/device_executable.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

bool has_collectives(const ir::Graph& graph) {
  const std::vector<const ir::Node*> nodes = ir::topological_order(graph.roots());
  return std::any_of(nodes.begin(), nodes.end(), [](const ir::Node* node) {
    return node->op == ir::Op::HostCall &&
           node->as<ir::HostCallAttrs>().function == "collective_start";
  });
}

}  // namespace

std::unique_ptr<sdk::Executable> CudaTarget::load(codegen::LoweredModule lowered,
                                                  const sdk::Host& host) {
  const bool has_ranks = libraries_.communicators && has_collectives(lowered.module.graph);
  if (has_ranks) static_cast<void>(libraries_.communicators->library());
  const DeviceLibraries libraries{
      *libraries_.compiler,     libraries_.matmuls.library.get(),
      *libraries_.cudnn,        *libraries_.attention_kernels,
      *libraries_.rank_kernels, has_ranks ? libraries_.communicators.get() : nullptr};
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
