// Names are compared with those of the file; nothing is built yet.
#include "core/onnx/import/import_options.h"

#include "core/k/base/call.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/needed_nodes.h"
#include "core/ops/build.h"
#include "core/ops/convert.h"
#include "core/types/at.h"
#include "core/types/escaped_text.h"
#include "core/types/nearest.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

using Names = std::vector<std::string>;

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names dim_names(const GraphProto& graph) {
  Names names;
  for (const ValueInfo& input : graph.input) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      if (!is_known(input.shape[axis])) names.push_back(name_of_dim(input, axis));
    }
  }
  return names;
}

Names input_names(const GraphProto& graph) {
  Names names;
  for (const ValueInfo& input : graph.input) names.emplace_back(input.name);
  return names;
}

/// The names that can be outputs.
Names value_names(const GraphProto& graph) {
  Names names = input_names(graph);
  for (const TensorProto& tensor : graph.initializer) names.emplace_back(tensor.name);
  for (const NodeProto& node : graph.node) {
    names.insert(names.end(), node.output.begin(), node.output.end());
  }
  return names;
}

void check_dims(const GraphProto& graph, const ImportOptions& options) {
  if (options.dims.empty()) return;
  const Names names = dim_names(graph);
  for (const auto& [name, size] : options.dims) {
    if (!has(names, name)) {
      Call::value_error("dims", text("no input of ", options.model, " has a dim named '", name, "'",
                                     did_you_mean(name, names)));
    }
    if (size < 0) Call::value_error("dims", text("dim '", name, "' is ", size));
  }
}

void check_constants(const GraphProto& graph, const ImportOptions& options) {
  if (options.constants.empty()) return;
  const Names names = input_names(graph);
  for (const auto& [name, value] : options.constants) {
    if (has(names, name)) continue;
    Call::value_error("constants", text(options.model, " has no input named '", name, "'",
                                        did_you_mean(name, names)));
  }
}

void check_outputs(const GraphProto& graph, const ImportOptions& options) {
  const Names names = value_names(graph);
  std::vector<std::string_view> outputs(options.outputs.begin(), options.outputs.end());
  if (outputs.empty()) outputs = outputs_of(graph);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) {
      Call::value_error("outputs", text("output ", i, " of ", options.model, " has no name"));
    }
    if (has(names, outputs[i])) continue;
    Call::value_error(
        "outputs", text("nothing in ", options.model, " is named '", escaped_text(outputs[i]), "'",
                        did_you_mean(outputs[i], names)));
  }
}

/// The elements of a constant, cast to `dtype` and then to float64.
std::vector<double> numbers_as(const ir::ConstantAttrs& constant, DType dtype) {
  const std::int64_t count = product(constant.type.dims).value();
  std::vector<std::byte> cast(at(count) * dtype_bytes(dtype));
  ir::convert_elements(constant.type.dtype, constant.data.bytes->data(), dtype, cast.data(), count);
  std::vector<double> numbers(at(count));
  ir::convert_elements(dtype, cast.data(), DType::Float64,
                       reinterpret_cast<std::byte*>(numbers.data()), count);
  return numbers;
}

void require_representable(const ValueInfo& input, const ir::Value& given, DType dtype,
                           const std::string& model) {
  if (!is_float(given.dtype()) || !is_integer(dtype)) return;
  const auto& constant = given.node->as<ir::ConstantAttrs>();
  const std::vector<double> numbers = numbers_as(constant, DType::Float64);
  const std::vector<double> held = numbers_as(constant, dtype);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == held[i]) continue;
    Call::value_error("constants", text("input '", escaped_text(input.name), "' of ", model,
                                        " has dtype ", dtype, ", which cannot hold ", numbers[i],
                                        ", element ", i, " of its constant ", given.type()));
  }
}

/// The constant as the elements of the input's dtype.
ir::Value cast_constant(const ValueInfo& input, const ir::Value& given, const std::string& model) {
  const auto dtype = dtype_of(input.elem_type);
  if (!dtype) return given;
  require_representable(input, given, *dtype, model);
  return ir::cast(given, *dtype);
}

/// The sizes other than 1.
ir::Dims without_ones(ir::Dims dims) {
  std::erase_if(dims, [](const ir::Dim& dim) { return dim.is_one(); });
  return dims;
}

/// Whether the rank is that of the input, and all sizes but those of unknown dims.
bool has_shape_of(const ir::Value& value, const ValueInfo& input) {
  if (value.dims().size() != input.shape.size()) return false;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const Dimension& size = input.shape[i];
    if (is_known(size) && value.dims()[i] != ir::Dim(*size.value)) return false;
  }
  return true;
}

/// Whether the elements are in the order of a tensor of these dims: those of a scalar or a vector,
/// and those that lack axes of size 1.
bool can_be_reshaped(const ir::Value& value, const ir::Dims& dims) {
  if (product(dims) != product(value.dims())) return false;
  if (value.rank() <= 1) return true;
  return value.dims().size() != dims.size() && without_ones(value.dims()) == without_ones(dims);
}

}  // namespace

void check_options(const GraphProto& graph, const ImportOptions& options) {
  check_dims(graph, options);
  check_constants(graph, options);
  check_outputs(graph, options);
}

ir::Value constant_of_input(const ValueInfo& input, const ir::Value& given,
                            const std::string& model) {
  const ir::Value value = cast_constant(input, given, model);
  if (!input.has_shape || has_shape_of(value, input)) return value;
  ir::Dims dims;
  for (const Dimension& dimension : input.shape) {
    dims.push_back(is_known(dimension) ? *dimension.value : 1);
  }
  if (can_be_reshaped(value, dims)) return ir::reshape(value, dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!is_known(input.shape[i])) dims[i] = ir::Dim::fresh(name_of_dim(input, i));
  }
  Call::value_error("constants",
                    text("input '", escaped_text(input.name), "' of ", model, " has shape ",
                         to_string(dims), ", but its constant ", to_string(value.dims())));
}

}  // namespace kiln::onnx
