// Fills a variant pack for each call and executes the plan that fits the addresses' alignment.
#include "backends/cuda/libraries/convolutions.h"

#include "backends/cuda/api/api_failure.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using A = api::CudnnAttribute;

constexpr api::DeviceAddress kWorkspaceAlignment = 256;

void check(const api::Cudnn& library, api::CudnnStatus status, const std::string& action) {
  if (status != api::CudnnStatus::Success) throw failure(library, status, action);
}

void* pointer(api::DeviceAddress address) { return reinterpret_cast<void*>(address); }

ConvolutionPlan plan_of(const CudnnContext& context, const ConvolutionDescription& convolution,
                        std::int64_t alignment) {
  return {*context.library,
          convolution,
          alignment,
          {.handle = context.handle, .device = context.device.get()}};
}

}  // namespace

PreparedConvolution::PreparedConvolution(CudnnContext& context,
                                         const ConvolutionDescription& convolution)
    : context_(context),
      convolution_(convolution),
      aligned_(plan_of(context, convolution, kTensorAlignment)) {
  try {
    const auto width = static_cast<std::int64_t>(dtype_bytes(convolution.dtype));
    unaligned_.emplace(plan_of(context, convolution, width));
  } catch (const sdk::Failure& failure) {
    if (failure.code() != KILN_CODE_UNIMPLEMENTED) throw;
  }
}

std::int64_t PreparedConvolution::workspace_bytes() const {
  const std::int64_t bytes =
      std::max(aligned_.workspace_bytes(), unaligned_ ? unaligned_->workspace_bytes() : 0);
  return bytes == 0 ? 0 : bytes + static_cast<std::int64_t>(kWorkspaceAlignment) - 1;
}

void PreparedConvolution::issue(const ConvolutionAddresses& addresses, const Stream& stream) const {
  const api::DeviceAddress all = addresses.input | addresses.filter | addresses.output;
  const bool is_aligned = all % static_cast<api::DeviceAddress>(kTensorAlignment) == 0;
  if (!is_aligned && !unaligned_) {
    throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                       "cuDNN has no engine for the convolution " + text_of(convolution_) +
                           " at addresses that are not multiples of 16 bytes");
  }
  const ConvolutionPlan& plan = is_aligned ? aligned_ : *unaligned_;
  const api::Cudnn& library = *context_.library;
  const BackendDescriptor pack(library, context_.device.get(), api::DescriptorType::VariantPack,
                               "queue a convolution");
  pack.set_list(A::PackIds, std::vector<std::int64_t>{kInputId, kFilterId, kOutputId});
  pack.set_list(A::PackPointers,
                std::vector<void*>{pointer(addresses.input), pointer(addresses.filter),
                                   pointer(addresses.output)});
  const api::DeviceAddress workspace =
      (addresses.workspace + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  pack.set(A::PackWorkspace, plan.workspace_bytes() == 0 ? nullptr : pointer(workspace));
  pack.finalize();
  const std::string action = "queue the convolution " + text_of(convolution_);
  const std::lock_guard lock(context_.mutex);
  check(library, library.set_stream(context_.handle, stream.handle()), action);
  const auto execute = [&] {
    return library.execute(context_.handle, plan.handle(), pack.handle());
  };
  check(library, stream.submit_by_library(execute), action);
}

ConvolutionLibrary::ConvolutionLibrary(std::shared_ptr<const api::Cudnn> library,
                                       std::shared_ptr<const Device> device,
                                       const EngineOptions& options)
    : options_(options) {
  context_.library = std::move(library);
  context_.device = std::move(device);
  const auto create = [&] { return context_.library->create(&context_.handle); };
  check(*context_.library, context_.device->allocate(create),
        "use cuDNN on " + context_.device->title());
}

ConvolutionLibrary::~ConvolutionLibrary() {
  if (!context_.device->is_usable()) return;
  try {
    const ScopedContext context(*context_.device);
    context_.library->destroy(context_.handle);
  } catch (...) {
    // The device has just ended: the library cannot free the handle without its context.
  }
}

std::shared_ptr<const PreparedConvolution> ConvolutionLibrary::prepare(
    const ConvolutionDescription& convolution) const {
  const std::lock_guard lock(context_.mutex);
  std::erase_if(prepared_, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<const PreparedConvolution>& cached = prepared_[convolution];
  if (auto alive = cached.lock()) return alive;
  auto prepared = std::make_shared<const PreparedConvolution>(context_, convolution);
  cached = prepared;
  return prepared;
}

}  // namespace kiln::cuda
