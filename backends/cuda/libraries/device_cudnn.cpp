// Rejects everything, so that it becomes kernels, if the library is missing, old or incomplete.
#include "backends/cuda/libraries/device_cudnn.h"

#include "core/types/text.h"

namespace kiln::cuda {

std::optional<std::string> DeviceCudnn::rejection_of_convolution(const ir::Node& node) const {
  if (auto rejection = claims_.rejection_of_convolution(node)) return rejection;
  return rejection_of_library();
}

std::optional<std::string> DeviceCudnn::rejection_of_attention(const ir::Node& node) const {
  if (auto rejection = claims_.rejection_of_attention(node)) return rejection;
  if (auto rejection = rejection_of_library()) return rejection;
  if (library()->has_attention()) return std::nullopt;
  return text("cuDNN 9.19 is the first that is used for attention, not ",
              library()->version_text());
}

std::optional<std::string> DeviceCudnn::rejection_of_library() const {
  const std::lock_guard lock(mutex_);
  if (!library_ && !missing_) open();
  if (missing_) return "missing library: " + *missing_;
  return std::nullopt;
}

const CudnnLibrary* DeviceCudnn::library() const {
  const std::lock_guard lock(mutex_);
  return library_.get();
}

/// REQUIRES: mutex_ is held.
void DeviceCudnn::open() const {
  api::Messages messages;
  std::shared_ptr<const api::Cudnn> library;
  std::uint32_t level = KILN_LOG_INFO;
  try {
    library = api::open_cudnn(settings_, messages);
  } catch (const api::DamagedLibrary& failure) {
    missing_ = failure.what();
    level = KILN_LOG_WARNING;
  } catch (const sdk::Failure& failure) {
    missing_ = failure.what();
  }
  for (const std::string& message : messages) host_.log(KILN_LOG_INFO, "cuda", message);
  if (missing_) {
    host_.log(level, "cuda", "convolutions, attention of halves: kernels; " + *missing_);
  }
  if (!library) return;
  const ScopedContext context(*device_);
  library_ = std::make_shared<const CudnnLibrary>(std::move(library), device_, options_);
}

}  // namespace kiln::cuda
