// Tensors are told apart by their messages in the file: functions are imported from copies.
#include "core/onnx/import/tensor_values.h"

#include "core/k/base/call.h"
#include "core/onnx/file/read.h"
#include "core/ops/build.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

constexpr std::size_t kMaxConstant = 4096;  // bytes: larger Constant nodes become variables

ir::Dims static_dims(const std::vector<std::int64_t>& dims) { return {dims.begin(), dims.end()}; }

/// The bytes that the elements need. REQUIRES: a dtype that Kiln has.
std::size_t byte_count(const TensorProto& tensor) {
  std::size_t count = dtype_bytes(*dtype_of(tensor.data_type));
  for (const std::int64_t dim : tensor.dims) count *= static_cast<std::size_t>(dim);
  return count;
}

}  // namespace

TensorValues::TensorValues(const GraphProto& graph, const ImportOptions& options,
                           const ImportServices& services)
    : options_(options), services_(services) {
  for (const TensorProto& tensor : graph.initializer) {
    orders_.emplace(tensor.source, orders_.size());
    names_.emplace(tensor.name);
  }
}

bool TensorValues::is_variable(const Binding& binding) const {
  const TensorProto& tensor = *binding.tensor;
  const auto dtype = dtype_of(tensor.data_type);
  if (!options_.trainable || !dtype || !is_float(*dtype) || tensor.dims.empty()) return false;
  return binding.is_initializer || byte_count(tensor) > kMaxConstant;
}

std::span<const std::byte> TensorValues::bytes_of(const TensorProto& tensor) {
  if (!tensor.external) return tensor.data;
  return services_.external(*tensor.external, byte_count(tensor));
}

ir::Value TensorValues::constant(const TensorProto& tensor) {
  const auto dtype = dtype_of(tensor.data_type);
  if (!dtype) {
    Call::type_error("path", text("tensor '", escaped_text(tensor.name), "' has elements of type ",
                                  data_type_text(tensor.data_type), ", which Kiln does not have"));
  }
  const auto bytes = bytes_of(tensor);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  if (*dtype == DType::Bool) {
    for (std::byte& one : copy) one = one == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  return ir::constant({*dtype, static_dims(tensor.dims)}, std::move(copy));
}

std::string TensorValues::distinct_name(std::string_view name) {
  std::string distinct(name);
  if (names_.insert(distinct).second) return distinct;
  std::size_t& suffix = suffixes_.emplace(name, 1).first->second;
  do distinct = text(name, "~", ++suffix);
  while (!names_.insert(distinct).second);
  return distinct;
}

ir::Value TensorValues::variable(const Binding& binding) {
  const TensorProto& tensor = *binding.tensor;
  const auto order = orders_.find(tensor.source);
  const bool is_of_model = order != orders_.end();
  const std::string name =
      is_of_model ? std::string(binding.tensor_name) : distinct_name(binding.tensor_name);
  const ir::Type type{*dtype_of(tensor.data_type), static_dims(tensor.dims)};
  const ir::Value value = services_.variable(name, type, bytes_of(tensor));
  numbers_.emplace(tensor.source, variables_.size());
  variables_.push_back({is_of_model ? order->second : orders_.size(), {name, value}});
  return value;
}

ir::Value TensorValues::value_of(const Binding& binding) {
  const auto found = values_.find(binding.tensor->source);
  if (found != values_.end()) return found->second;
  const ir::Value value = is_variable(binding) ? variable(binding) : constant(*binding.tensor);
  values_.emplace(binding.tensor->source, value);
  return value;
}

void TensorValues::record_use(const void* source, OperandUse use) {
  const auto found = numbers_.find(source);
  if (found == numbers_.end()) return;
  Variable& variable = variables_[found->second];
  if (use == OperandUse::Weight) variable.is_weight = true;
  if (use == OperandUse::Statistic) variable.is_statistic = true;
}

void TensorValues::list_variables(ImportedModel& result) const {
  std::vector<const Variable*> ordered;
  for (const Variable& variable : variables_) ordered.push_back(&variable);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return a->order < b->order; });
  for (const Variable* variable : ordered) {
    result.variables.push_back(variable->named);
    result.is_trained.push_back(variable->is_weight || !variable->is_statistic);
  }
}

}  // namespace kiln::onnx
