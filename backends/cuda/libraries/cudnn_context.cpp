// Fills a variant pack for each call.
#include "backends/cuda/libraries/cudnn_context.h"

#include "backends/cuda/api/api_failure.h"

namespace kiln::cuda {
namespace {

using A = api::CudnnAttribute;

constexpr std::int64_t kWorkspaceAlignment = 256;

}  // namespace

std::int64_t padded_workspace_bytes(std::int64_t bytes) {
  return bytes == 0 ? 0 : bytes + kWorkspaceAlignment - 1;
}

void queue_plan(const CudnnContext& context, api::DescriptorHandle plan,
                std::span<const PackedTensor> tensors, api::DeviceAddress workspace,
                const Stream& stream, const std::string& action) {
  const api::Cudnn& library = *context.library;
  const BackendDescriptor pack(library, context.device.get(), api::DescriptorType::VariantPack,
                               action.c_str());
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const PackedTensor& tensor : tensors) {
    ids.push_back(tensor.id);
    pointers.push_back(tensor.memory);
  }
  pack.set_list(A::PackIds, ids);
  pack.set_list(A::PackPointers, pointers);
  constexpr auto kAlignment = static_cast<api::DeviceAddress>(kWorkspaceAlignment);
  pack.set(A::PackWorkspace, pointer((workspace + kAlignment - 1) / kAlignment * kAlignment));
  pack.finalize();
  const auto check = [&](api::CudnnStatus status) {
    if (status != api::CudnnStatus::Success) throw failure(library, status, action);
  };
  const std::lock_guard lock(context.mutex);
  check(library.set_stream(context.handle, stream.handle()));
  check(stream.submit_by_library(
      [&] { return library.execute(context.handle, plan, pack.handle()); }));
}

}  // namespace kiln::cuda
