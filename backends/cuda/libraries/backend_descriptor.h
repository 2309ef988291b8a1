// Wraps a descriptor of cuDNN's backend interface: owns it, and types its attributes.
#pragma once

#include "backends/cuda/api/open_cudnn.h"
#include "backends/cuda/device/device.h"

#include <span>
#include <vector>

namespace kiln::cuda {

template <class Value>
inline constexpr api::CudnnAttributeType kAttributeType = Value::no_such_attribute_type;
template <>
inline constexpr auto kAttributeType<std::int64_t> = api::CudnnAttributeType::Int64;
template <>
inline constexpr auto kAttributeType<float> = api::CudnnAttributeType::Float32;
template <>
inline constexpr auto kAttributeType<double> = api::CudnnAttributeType::Float64;
template <>
inline constexpr auto kAttributeType<bool> = api::CudnnAttributeType::Boolean;
template <>
inline constexpr auto kAttributeType<char> = api::CudnnAttributeType::Char;
template <>
inline constexpr auto kAttributeType<void*> = api::CudnnAttributeType::Pointer;
template <>
inline constexpr auto kAttributeType<api::CudnnDataType> = api::CudnnAttributeType::DataType;
template <>
inline constexpr auto kAttributeType<api::ConvolutionMode> =
    api::CudnnAttributeType::ConvolutionMode;
template <>
inline constexpr auto kAttributeType<api::HeuristicMode> = api::CudnnAttributeType::HeuristicMode;
template <>
inline constexpr auto kAttributeType<api::NumericalNote> = api::CudnnAttributeType::NumericalNote;
template <>
inline constexpr auto kAttributeType<api::PointwiseMode> = api::CudnnAttributeType::PointwiseMode;
template <>
inline constexpr auto kAttributeType<api::Reduction> = api::CudnnAttributeType::Reduction;
template <>
inline constexpr auto kAttributeType<api::CudnnHandle> = api::CudnnAttributeType::Handle;
template <>
inline constexpr auto kAttributeType<api::DescriptorHandle> = api::CudnnAttributeType::Descriptor;

/// REQUIRES: a float.
api::CudnnDataType data_type_of(DType dtype);

/// Owns one descriptor. Protocol of the library: set attributes, finalize, then read attributes.
/// All functions but the destructor throw sdk::Failure with the text "cannot `action`: ...". One
/// thread at a time.
class BackendDescriptor {
 public:
  /// `device`: the device of the cuDNN handle that the descriptor refers to; null: it refers to no
  /// handle. REQUIRES: `library`, `device` and `action` outlive the object.
  BackendDescriptor(const api::Cudnn& library, const Device* device, api::DescriptorType type,
                    const char* action);
  /// Any thread.
  ~BackendDescriptor();
  BackendDescriptor(BackendDescriptor&& other) noexcept;
  BackendDescriptor& operator=(BackendDescriptor&&) = delete;

  api::DescriptorHandle handle() const { return handle_; }

  template <class Value>
  void set(api::CudnnAttribute attribute, const Value& value) const {
    set_raw(attribute, kAttributeType<Value>, 1, &value);
  }
  void set(api::CudnnAttribute attribute, const BackendDescriptor& value) const {
    set(attribute, value.handle_);
  }
  template <class Value>
  void set_list(api::CudnnAttribute attribute, const std::vector<Value>& values) const {
    set_raw(attribute, kAttributeType<Value>, static_cast<std::int64_t>(values.size()),
            values.data());
  }
  void finalize() const;
  /// Finalizes by Device::allocate and returns the status instead of throwing.
  api::CudnnStatus try_finalize() const;

  /// The number of values that the attribute has, at most `max`.
  template <class Value>
  std::size_t count(api::CudnnAttribute attribute, std::size_t max) const {
    return get_raw(attribute, kAttributeType<Value>, 0, nullptr, 0, max);
  }
  /// Reads the values of an attribute that has at most values.size(); returns their number.
  template <class Value>
  std::size_t get(api::CudnnAttribute attribute, std::span<Value> values) const {
    return get_raw(attribute, kAttributeType<Value>, values.size(), values.data(), 0,
                   values.size());
  }
  /// Reads an attribute of one value.
  template <class Value>
  Value get(api::CudnnAttribute attribute) const {
    Value value{};
    get_raw(attribute, kAttributeType<Value>, 1, &value, 1, 1);
    return value;
  }
  /// Copies the descriptor that the attribute holds to `into`. REQUIRES: `into` is not finalized.
  void get(api::CudnnAttribute attribute, const BackendDescriptor& into) const;

 private:
  void check(api::CudnnStatus status) const;
  void set_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type, std::int64_t count,
               const void* values) const;
  /// Returns the number of values that the attribute has, from `min` to `max`.
  std::size_t get_raw(api::CudnnAttribute attribute, api::CudnnAttributeType type,
                      std::size_t count, void* values, std::size_t min, std::size_t max) const;

  const api::Cudnn& library_;
  const Device* device_;
  const char* action_;
  api::DescriptorHandle handle_ = nullptr;
};

}  // namespace kiln::cuda
