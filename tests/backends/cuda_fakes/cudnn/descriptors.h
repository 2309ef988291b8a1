// Descriptors and the attributes that each type takes and gives.
#pragma once

#include "backends/cuda/api/cudnn_api.h"

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kiln::fake_cudnn {

using namespace cuda::api;

/// A copy of a tensor descriptor.
struct Tensor {
  CudnnDataType type{};
  std::vector<std::int64_t> dims, strides;
  std::int64_t id = 0, alignment = 0;
};
/// One convolution: a copy of all descriptors of its graph.
struct Problem {
  DescriptorType role{};  // Forward, BackwardData, BackwardFilter
  CudnnDataType compute_type{};
  Tensor input, filter, output;
  std::vector<std::int64_t> strides, dilations, low, high;
};

struct Operation;

struct Value {
  CudnnAttributeType type{};
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
};

struct Descriptor {
  DescriptorType type{};
  bool is_finalized = false;
  std::map<CudnnAttribute, Value> values;
  /// Of operations and of descriptors derived from them: one convolution, or else several
  /// operations (attention.h).
  Problem problem;
  std::shared_ptr<const std::vector<Operation>> operations = nullptr;
  int engine = -1;             // of configurations, engines and plans
  std::int64_t workspace = 0;  // of plans

  /// The values of an attribute that is set.
  template <class Element>
  std::vector<Element> list(CudnnAttribute attribute) const {
    const Value& value = values.at(attribute);
    std::vector<Element> elements(static_cast<std::size_t>(value.count));
    std::memcpy(elements.data(), value.bytes.data(), value.bytes.size());
    return elements;
  }
  template <class Element>
  Element one(CudnnAttribute attribute) const {
    Element element;
    std::memcpy(&element, values.at(attribute).bytes.data(), sizeof(element));
    return element;
  }
  /// The descriptor that an attribute holds.
  const Descriptor& at(CudnnAttribute attribute) const {
    return *reinterpret_cast<const Descriptor*>(one<DescriptorHandle>(attribute));
  }
};

/// An attribute that a type of descriptor takes, and needs unless it is optional.
struct Attribute {
  DescriptorType owner;
  CudnnAttribute name;
  CudnnAttributeType type;
  std::int64_t max_count;
  std::optional<DescriptorType> held;  // of descriptors: their type; none: any operation
  bool is_optional = false;
};

/// Null: descriptors of this type have no such attribute.
const Attribute* attribute_of(DescriptorType owner, CudnnAttribute name);
/// Whether every attribute is set that the descriptor needs.
bool is_complete(const Descriptor& descriptor);
std::size_t bytes_of(CudnnAttributeType type);

}  // namespace kiln::fake_cudnn
