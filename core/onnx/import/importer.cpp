// Binds the names of a model and calls the import function of each node.
#include "core/onnx/import/importer.h"

#include "core/ir/scope.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/functions.h"
#include "core/onnx/import/import_options.h"
#include "core/onnx/import/needed_nodes.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/node_scope.h"
#include "core/onnx/import/table.h"
#include "core/types/escaped_text.h"

#include <algorithm>

namespace kiln::onnx {
namespace {

constexpr std::size_t kMaxConstant = 4096;  // bytes: larger Constant nodes become variables
constexpr int kMaxFunctionDepth = 32;
// Nested functions and loops multiply: a small file can ask for more nodes than memory can hold.
constexpr std::int64_t kMaxNodes = std::int64_t{1} << 18;

/// Throws the error anew with another message.
template <class Kind>
[[noreturn]] void replace_message(const Kind& error, const std::string& message) {
  throw Kind("import_onnx", error.argument(), message, Call::where());
}

/// Runs work(). Puts `prefix`, which names a node, before the messages of its errors, unless a node
/// inside has done so.
template <class Work>
void with_prefix(const std::string& prefix, const Work& work) {
  const auto throw_prefixed = [&](const auto& error) {
    if (error.function() == "import_onnx") throw error;
    replace_message(error, text(prefix, ": ", error.message()));
  };
  try {
    work();
  } catch (const ValueError& error) {
    throw_prefixed(error);
  } catch (const TypeError& error) {
    throw_prefixed(error);
  } catch (const NotImplementedError& error) {
    throw_prefixed(error);
  }
}

/// The node's name; that of its first output for one without.
std::string_view name_of(const NodeProto& node) {
  return node.name.empty() && !node.output.empty() ? node.output[0] : node.name;
}

ir::Dims static_dims(const std::vector<std::int64_t>& dims) { return {dims.begin(), dims.end()}; }

}  // namespace

std::size_t Importer::order_of(const TensorProto& tensor) const {
  const auto& initializers = model_.graph.initializer;
  for (std::size_t i = 0; i < initializers.size(); ++i) {
    if (&initializers[i] == &tensor) return i;
  }
  return initializers.size();
}

bool Importer::is_variable(const Binding& binding) const {
  const TensorProto& tensor = *binding.tensor;
  const auto dtype = dtype_of(tensor.data_type);
  if (!options_.trainable || !dtype || !is_float(*dtype) || tensor.dims.empty()) return false;
  return binding.is_initializer || tensor.data.size() > kMaxConstant;
}

std::span<const std::byte> Importer::bytes_of(const TensorProto& tensor) {
  if (!tensor.external) return tensor.data;
  std::size_t count = dtype_bytes(*dtype_of(tensor.data_type));
  for (const std::int64_t dim : tensor.dims) count *= static_cast<std::size_t>(dim);
  return services_.external(*tensor.external, count);
}

ir::Value Importer::constant(const TensorProto& tensor) {
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

ir::Value Importer::value_of(Environment& environment, std::string_view name, bool is_trained) {
  Binding* binding = environment.find(name);
  if (!binding) throw MalformedModel(text("'", name, "' is used before a node makes it"));
  const bool is_used = static_cast<bool>(binding->value);
  if (binding->tensor && !is_used) {
    if (is_variable(*binding)) {
      const TensorProto& tensor = *binding->tensor;
      const ir::Type type{*dtype_of(tensor.data_type), static_dims(tensor.dims)};
      binding->value = services_.variable(std::string(name), type, bytes_of(tensor));
      variables_.push_back({order_of(tensor), {std::string(name), binding->value}, is_trained});
    } else {
      binding->value = constant(*binding->tensor);
    }
  }
  return binding->value;
}

std::optional<ShapeElements> Importer::elements_of(Environment& environment,
                                                   std::string_view name) {
  Binding* binding = environment.find(name);
  if (!binding) throw MalformedModel(text("'", name, "' is used before a node makes it"));
  if (binding->tensor) {
    std::int64_t count = 1;
    for (const std::int64_t dim : binding->tensor->dims) count *= dim;
    if (count > ShapeValues::kMaxElements) return std::nullopt;
    return shape_values_.elements(constant(*binding->tensor));
  }
  return shape_values_.elements(binding->value);
}

void Importer::bind_initializers(const GraphProto& graph, Environment& environment) {
  for (const TensorProto& tensor : graph.initializer) {
    const Binding binding{.value = {}, .tensor = &tensor, .is_initializer = true};
    if (!environment.bind(tensor.name, binding)) {
      throw MalformedModel(text("two initializers are named '", tensor.name, "'"));
    }
  }
  if (!graph.sparse_initializer.empty()) {
    Call::type_error("path", text(options_.model, " has a sparse initializer '",
                                  escaped_text(graph.sparse_initializer[0].values.name),
                                  "'; only dense ones are imported"));
  }
}

ir::Value Importer::placeholder_of(const ValueInfo& info) {
  const std::string name(info.name);
  const auto reject = [&](const std::string& reason) {
    Call::type_error("path",
                     text("input '", escaped_text(name), "' of ", options_.model, " is ", reason));
  };
  if (!info.other_kind.empty()) reject(std::string(info.other_kind) + ", not a tensor");
  const auto dtype = dtype_of(info.elem_type);
  if (!dtype)
    reject(text("of type ", data_type_text(info.elem_type), ", which Kiln does not have"));
  if (!info.has_shape) reject("without a shape; its rank must be known");
  if (info.shape.size() > ir::kMaxRank) reject(text("of rank ", info.shape.size()));
  ir::Dims dims;
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    const Dimension& dimension = info.shape[axis];
    if (is_known(dimension)) {
      dims.push_back(*dimension.value);
      continue;
    }
    const std::string dim_name = name_of_dim(info, axis);
    const auto given = options_.dims.find(dim_name);
    const ir::Dim dim = given == options_.dims.end() ? ir::Dim::fresh(dim_name) : given->second;
    dims.push_back(named_dims_.emplace(dim_name, dim).first->second);
  }
  return fresh_placeholder({*dtype, dims}, name);
}

void Importer::assume_given(const NamedValue& input) {
  const auto given = options_.given.find(input.name);
  if (given == options_.given.end()) return;
  const ir::Type& type = given->second.type();
  if (type == input.value.type()) shape_values_.assume(input.value, given->second);
}

void Importer::bind_inputs(Environment& environment, ImportedModel& result) {
  for (const ValueInfo& info : model_.graph.input) {
    const auto given = options_.constants.find(std::string(info.name));
    if (given != options_.constants.end()) {
      const Binding constant{.value = constant_of_input(info, given->second, options_.model)};
      // An initializer of that name is the default of the input.
      if (!environment.bind(info.name, constant)) *environment.find(info.name) = constant;
      continue;
    }
    if (environment.find(info.name)) continue;  // before IR 4, initializers are inputs, too
    const ir::Value input = placeholder_of(info);
    environment.bind(info.name, {.value = input});
    result.inputs.push_back({std::string(info.name), input});
    assume_given(result.inputs.back());
  }
}

void Importer::run_function(const FunctionProto& function, const NodeProto& node,
                            Environment& environment) {
  if (++function_depth_ > kMaxFunctionDepth) {
    throw MalformedModel(text("calls of functions are nested more than ", kMaxFunctionDepth,
                              " deep, or endless: '", function.name, "'"));
  }
  Environment inner(nullptr);
  for (std::size_t i = 0; i < function.input.size() && i < node.input.size(); ++i) {
    if (node.input[i].empty()) continue;
    inner.bind(function.input[i],
               {.value = value_of(environment, node.input[i], /*is_trained=*/true)});
  }
  const std::int64_t opset = opset_of(function.opset_import, "");
  const std::vector<NodeProto> nodes = function_nodes(function, node);
  run_nodes(nodes, inner, opset == 0 ? opset_of(model_.opset_import, "") : opset);
  for (std::size_t i = 0; i < function.output.size() && i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    environment.bind(node.output[i],
                     {.value = value_of(inner, function.output[i], /*is_trained=*/true)});
  }
  --function_depth_;
}

void Importer::run_node(const NodeProto& node, Environment& environment, std::int64_t opset) {
  if (++nodes_run_ > kMaxNodes) {
    Call::value_error(
        "path", text("calls of functions and steps of loops make more than ", kMaxNodes, " nodes"));
  }
  if (const FunctionProto* function = function_of(model_, node)) {
    return run_function(*function, node, environment);
  }
  const OperatorRow* row = operator_row(node.op_type);  // require_operators() has found it
  NodeContext context(*this, environment, node, opset);
  const std::vector<ir::Value> results = row->import(context);
  for (std::size_t i = 0; i < node.output.size(); ++i) {
    const std::string_view name = node.output[i];
    if (name.empty() || (results.empty() && environment.find(name) != nullptr)) continue;
    if (i >= results.size() || !results[i]) {
      Call::value_error("path",
                        text("output ", i, " ('", escaped_text(name), "') is not computed"));
    }
    if (!environment.bind(name, {.value = results[i]})) {
      throw MalformedModel(text("'", name, "' is made twice"));
    }
  }
}

void Importer::run_nodes(const std::vector<NodeProto>& nodes, Environment& environment,
                         std::int64_t opset) {
  for (const NodeProto& node : nodes) {
    const OperatorRow* row = node.domain.empty() ? operator_row(node.op_type) : nullptr;
    const std::string_view name = name_of(node);
    const NodeScope scope(row ? row->name.data() : nullptr, name);
    with_prefix(text("'", escaped_text(name), "' of ", options_.model),
                [&] { run_node(node, environment, opset); });
  }
}

std::vector<ir::Value> Importer::run_graph(const GraphProto& graph,
                                           const std::vector<ir::Value>& inputs, Environment& outer,
                                           std::int64_t opset) {
  if (inputs.size() != graph.input.size()) {
    throw MalformedModel(
        text("graph '", graph.name, "' has ", graph.input.size(), " inputs, not ", inputs.size()));
  }
  Environment inner(&outer);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inner.bind(graph.input[i].name, {.value = inputs[i]});
  }
  bind_initializers(graph, inner);
  std::vector<std::string_view> outputs;
  for (const ValueInfo& output : graph.output) outputs.push_back(output.name);
  const std::vector<NodeProto> nodes = needed_nodes(graph, outputs);
  run_nodes(nodes, inner, opset);
  std::vector<ir::Value> results;
  for (const std::string_view name : outputs)
    results.push_back(value_of(inner, name, /*is_trained=*/true));
  return results;
}

ImportedModel Importer::run() {
  check_options(model_.graph, options_);
  const std::int64_t opset =
      std::max<std::int64_t>(opset_of(model_.opset_import, ""), model_.ir_version < 3 ? 1 : 0);
  require_opset(opset, options_);
  std::vector<std::string_view> outputs(options_.outputs.begin(), options_.outputs.end());
  if (outputs.empty()) {
    for (const ValueInfo& output : model_.graph.output) outputs.push_back(output.name);
  }
  const std::vector<NodeProto> nodes = needed_nodes(model_.graph, outputs);
  require_operators(model_, nodes, options_);
  const NodeScope scope(nullptr, options_.model);
  ImportedModel result;
  Environment environment(nullptr);
  bind_initializers(model_.graph, environment);
  bind_inputs(environment, result);
  run_nodes(nodes, environment, std::min(opset, kNewestOpset));
  for (const std::string_view name : outputs) {
    result.outputs.push_back({std::string(name), value_of(environment, name, /*is_trained=*/true)});
  }
  std::stable_sort(variables_.begin(), variables_.end(),
                   [](const auto& a, const auto& b) { return a.order < b.order; });
  for (const Variable& variable : variables_) {
    result.variables.push_back(variable.named);
    result.is_trained.push_back(variable.is_trained);
  }
  for (const NamedValue& input : result.inputs) {
    const auto& used = shape_values_.used_assumptions();
    if (std::find(used.begin(), used.end(), input.value) == used.end()) continue;
    result.assumed.push_back(input.name);
  }
  return result;
}

ImportedModel import_model(const ModelProto& model, const ImportOptions& options,
                           const ImportServices& services) {
  return Importer(model, options, services).run();
}

}  // namespace kiln::onnx
