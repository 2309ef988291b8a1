// Calls the library and throws its status codes as sdk::Failure.
#include "backends/cuda/libraries/backend_descriptor.h"

#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/reported.h"

#include <optional>
#include <utility>

namespace kiln::cuda {
namespace {

const char* name_of(api::CudnnAttribute attribute) {
  switch (attribute) {
#define KILN_CUDNN_NAME(name, symbol, value) \
  case api::CudnnAttribute::name: return #symbol;
    KILN_CUDNN_ATTRIBUTE(KILN_CUDNN_NAME)
#undef KILN_CUDNN_NAME
  }
  return "an attribute";
}

}  // namespace

api::CudnnDataType data_type_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return api::CudnnDataType::Float64;
    case DType::Float16: return api::CudnnDataType::Float16;
    case DType::BFloat16: return api::CudnnDataType::BFloat16;
    default: return api::CudnnDataType::Float32;
  }
}

BackendDescriptor::BackendDescriptor(const api::Cudnn& library, const Device* device,
                                     api::DescriptorType type, const char* action)
    : library_(library), device_(device), action_(action) {
  check(library_.descriptor_create(type, &handle_));
}

BackendDescriptor::~BackendDescriptor() {
  if (handle_ == nullptr || (device_ != nullptr && !device_->is_usable())) return;
  try {
    std::optional<ScopedContext> context;
    if (device_ != nullptr) context.emplace(*device_);
    library_.descriptor_destroy(handle_);
  } catch (...) {
    // The device has just ended: the library cannot free the descriptor without its context.
  }
}

BackendDescriptor::BackendDescriptor(BackendDescriptor&& other) noexcept
    : library_(other.library_),
      device_(other.device_),
      action_(other.action_),
      handle_(std::exchange(other.handle_, nullptr)) {}

void BackendDescriptor::check(api::CudnnStatus status) const {
  if (status != api::CudnnStatus::Success) throw failure(library_, status, action_);
}

void BackendDescriptor::finalize() const { check(library_.descriptor_finalize(handle_)); }

api::CudnnStatus BackendDescriptor::try_finalize() const {
  const auto finalize = [&] { return library_.descriptor_finalize(handle_); };
  return device_ == nullptr ? finalize() : device_->allocate(finalize);
}

void BackendDescriptor::get(api::CudnnAttribute attribute, const BackendDescriptor& into) const {
  api::DescriptorHandle handle = into.handle_;
  get_raw(attribute, kAttributeType<api::DescriptorHandle>, 1, &handle, 1, 1);
}

void BackendDescriptor::set_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type,
                                std::int64_t count, const void* values) const {
  check(library_.descriptor_set(handle_, attribute, type, count, values));
}

std::size_t BackendDescriptor::get_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type,
                                       std::size_t count, void* values, std::size_t min,
                                       std::size_t max) const {
  auto found = static_cast<std::int64_t>(min);  // the library need not store the count
  check(library_.descriptor_get(handle_, attribute, type, static_cast<std::int64_t>(count), &found,
                                values));
  const std::string quantity = text("the number of values of ", name_of(attribute));
  api::checked_number(found, {"cuDNN", "cudnnBackendGetAttribute", quantity.c_str()},
                      static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
  return static_cast<std::size_t>(found);
}

}  // namespace kiln::cuda
