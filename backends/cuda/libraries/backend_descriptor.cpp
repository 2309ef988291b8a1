// Forwards to the library and throws its status codes as errors.
#include "backends/cuda/libraries/backend_descriptor.h"

#include "backends/cuda/api/api_failure.h"

#include <algorithm>
#include <utility>

namespace kiln::cuda {

BackendDescriptor::BackendDescriptor(const api::Cudnn& library, api::DescriptorType type,
                                     const char* action)
    : library_(library), action_(action) {
  check(library_.descriptor_create(type, &handle_));
}

BackendDescriptor::~BackendDescriptor() {
  if (handle_ != nullptr) library_.descriptor_destroy(handle_);
}

BackendDescriptor::BackendDescriptor(BackendDescriptor&& other) noexcept
    : library_(other.library_),
      action_(other.action_),
      handle_(std::exchange(other.handle_, nullptr)) {}

void BackendDescriptor::check(api::CudnnStatus status) const {
  if (status != api::CudnnStatus::Success) throw failure(library_, status, action_);
}

void BackendDescriptor::finalize() const { check(try_finalize()); }

void BackendDescriptor::get(api::CudnnAttribute attribute, const BackendDescriptor& into) const {
  api::DescriptorHandle handle = into.handle_;
  get(attribute, std::span<api::DescriptorHandle>(&handle, 1));
}

void BackendDescriptor::set_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type,
                                std::int64_t count, const void* values) const {
  check(library_.descriptor_set(handle_, attribute, type, count, values));
}

std::size_t BackendDescriptor::get_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type,
                                       std::size_t count, void* values) const {
  std::int64_t found = 0;
  check(library_.descriptor_get(handle_, attribute, type, static_cast<std::int64_t>(count), &found,
                                values));
  return static_cast<std::size_t>(std::max(found, std::int64_t{0}));
}

}  // namespace kiln::cuda
