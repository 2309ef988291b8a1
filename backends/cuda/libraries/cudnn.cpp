// Creates and destroys the handle.
#include "backends/cuda/libraries/cudnn.h"

#include "backends/cuda/api/api_failure.h"

namespace kiln::cuda {

CudnnLibrary::CudnnLibrary(std::shared_ptr<const api::Cudnn> library,
                           std::shared_ptr<const Device> device, const EngineOptions& options)
    : options_(options) {
  context_.library = std::move(library);
  context_.device = std::move(device);
  const auto create = [&] { return context_.library->create(&context_.handle); };
  const api::CudnnStatus status = context_.device->allocate(create);
  if (status == api::CudnnStatus::Success) return;
  throw failure(*context_.library, status, "use cuDNN on " + context_.device->title());
}

CudnnLibrary::~CudnnLibrary() {
  if (!context_.device->is_usable()) return;
  try {
    const ScopedContext context(*context_.device);
    context_.library->destroy(context_.handle);
  } catch (...) {
    // The device has just ended: the library cannot free the handle without its context.
  }
}

}  // namespace kiln::cuda
