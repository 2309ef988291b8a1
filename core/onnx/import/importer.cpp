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

/// Counts a call of a function while it is imported: its errors may be caught, where another form
/// of a loop is tried.
class ScopedFunctionCall {
 public:
  ScopedFunctionCall(int& depth, const FunctionProto& function) : depth_(depth) {
    if (depth_ >= kMaxFunctionDepth) {
      throw MalformedModel(text("calls of functions are nested more than ", kMaxFunctionDepth,
                                " deep, or endless: '", function.name, "'"));
    }
    ++depth_;
  }
  ~ScopedFunctionCall() { --depth_; }
  ScopedFunctionCall(const ScopedFunctionCall&) = delete;
  ScopedFunctionCall& operator=(const ScopedFunctionCall&) = delete;

 private:
  int& depth_;
};

/// Binds a name that a node makes.
void bind_made(Environment& environment, std::string_view name, Binding binding) {
  if (environment.bind(name, std::move(binding))) return;
  throw MalformedModel(text("'", name, "' is made twice"));
}

}  // namespace

Binding& Importer::binding_of(Environment& environment, std::string_view name) {
  if (Binding* binding = environment.find(name)) return *binding;
  throw MalformedModel(text("'", name, "' is used before a node makes it"));
}

ir::Value Importer::value_of(Environment& environment, std::string_view name, OperandUse use) {
  Binding& binding = binding_of(environment, name);
  if (!binding.value) {
    binding.value = tensors_.value_of(binding);
    assume_small(binding);
  }
  if (binding.source != nullptr) tensors_.record_use(binding.source, use);
  return binding.value;
}

void Importer::assume_small(const Binding& binding) {
  constexpr std::int64_t kMaxScales = 2 * 8;  // such as the scales and regions of Resize
  const std::vector<std::int64_t>& dims = binding.tensor->dims;
  if (binding.value.node->op != ir::Op::Variable || dims.size() != 1 || dims[0] > kMaxScales)
    return;
  weight_values_.assume(binding.value, constant(*binding.tensor));
}

std::optional<ShapeElements> Importer::elements_of(Environment& environment,
                                                   std::string_view name) {
  const Binding& binding = binding_of(environment, name);
  if (binding.tensor) {
    std::int64_t count = 1;
    for (const std::int64_t dim : binding.tensor->dims) count *= dim;
    if (count > ShapeValues::kMaxElements) return std::nullopt;
    return shape_values_.elements(constant(*binding.tensor));
  }
  return shape_values_.elements(binding.value);
}

std::optional<ShapeElements> Importer::elements_by_weights(Environment& environment,
                                                           std::string_view name) {
  const Binding& binding = binding_of(environment, name);
  return binding.value ? weight_values_.elements(binding.value) : std::nullopt;
}

void Importer::bind_initializers(const GraphProto& graph, Environment& environment) {
  for (const TensorProto& tensor : graph.initializer) {
    const Binding binding{.value = {},
                          .tensor = &tensor,
                          .is_initializer = true,
                          .tensor_name = tensor.name,
                          .source = tensor.source};
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

std::string Importer::input_rejection(const ValueInfo& info) {
  if (!info.other_kind.empty()) return text(info.other_kind, ", not a tensor");
  if (!dtype_of(info.elem_type)) {
    return text("of type ", data_type_text(info.elem_type), ", which Kiln does not have");
  }
  if (!info.has_shape) return "without a shape; its rank must be known";
  return info.shape.size() > ir::kMaxRank ? text("of rank ", info.shape.size()) : "";
}

ir::Value Importer::placeholder_of(const ValueInfo& info) {
  const std::string name(info.name), rejection = input_rejection(info);
  if (!rejection.empty()) {
    Call::type_error(
        "path", text("input '", escaped_text(name), "' of ", options_.model, " is ", rejection));
  }
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
  return fresh_placeholder({*dtype_of(info.elem_type), dims}, name);
}

void Importer::assume_given(const NamedValue& input) {
  const auto given = options_.given.find(input.name);
  if (given == options_.given.end()) return;
  const ir::Type& type = given->second.type();
  if (type != input.value.type()) return;
  shape_values_.assume(input.value, given->second);
  weight_values_.assume(input.value, given->second);
}

void Importer::bind_inputs(const std::unordered_set<std::string_view>& used,
                           Environment& environment, ImportedModel& result) {
  for (const ValueInfo& info : model_.graph.input) {
    const auto given = options_.constants.find(std::string(info.name));
    if (given != options_.constants.end()) {
      const Binding constant{.value = constant_of_input(info, given->second, options_.model)};
      // An initializer of that name is the default of the input.
      if (!environment.bind(info.name, constant)) *environment.find(info.name) = constant;
      continue;
    }
    if (const Binding* bound = environment.find(info.name)) {
      if (bound->is_initializer) continue;  // before IR 4, initializers are inputs, too
      throw MalformedModel(text("two inputs are named '", info.name, "'"));
    }
    // Texts and sequences of another part of the model do not hinder.
    if (used.count(info.name) == 0 && !input_rejection(info).empty()) continue;
    const ir::Value input = placeholder_of(info);
    environment.bind(info.name, {.value = input});
    result.inputs.push_back({std::string(info.name), input});
    assume_given(result.inputs.back());
  }
}

void Importer::run_function(const FunctionProto& function, const NodeProto& node,
                            Environment& environment) {
  const ScopedFunctionCall call(function_depth_, function);
  if (node.input.size() > function.input.size() || node.output.size() > function.output.size()) {
    throw MalformedModel(text("function '", function.name, "' is called with ", node.input.size(),
                              " inputs and ", node.output.size(), " outputs, it has ",
                              function.input.size(), " and ", function.output.size()));
  }
  Environment inner(nullptr);
  for (std::size_t i = 0; i < function.input.size() && i < node.input.size(); ++i) {
    if (node.input[i].empty()) continue;
    inner.bind(function.input[i], binding_of(environment, node.input[i]));
  }
  const std::int64_t opset = opset_of(function.opset_import, "");
  const std::vector<NodeProto> nodes = function_nodes(function, node);
  run_nodes(nodes, inner,
            std::min(opset == 0 ? opset_of(model_.opset_import, "") : opset, kNewestOpset));
  for (std::size_t i = 0; i < function.output.size() && i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    bind_made(environment, node.output[i], binding_of(inner, function.output[i]));
  }
}

void Importer::run_node(const NodeProto& node, Environment& environment, std::int64_t opset) {
  if (++nodes_run_ > kMaxNodes) {
    Call::value_error(
        "path", text("calls of functions and steps of loops make more than ", kMaxNodes, " nodes"));
  }
  if (const FunctionProto* function = functions_.find(node)) {
    return run_function(*function, node, environment);
  }
  const OperatorRow* row = operator_row(node.op_type);  // require_operators() has found it
  NodeContext context(*this, environment, node, opset);
  const std::vector<ir::Value> results = row->import(context);
  const void* source =
      context.passes_on() ? binding_of(environment, node.input[0]).source : nullptr;
  for (std::size_t i = 0; i < node.output.size(); ++i) {
    const std::string_view name = node.output[i];
    if (name.empty() || (results.empty() && environment.find(name) != nullptr)) continue;
    if (i >= results.size() || !results[i]) {
      Call::value_error("path",
                        text("output ", i, " ('", escaped_text(name), "') is not computed"));
    }
    bind_made(environment, name, {.value = results[i], .source = source});
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
  const std::vector<std::string_view> outputs = outputs_of(graph);
  const std::vector<NodeProto> nodes = needed_nodes(graph, outputs);
  run_nodes(nodes, inner, opset);
  std::vector<ir::Value> results;
  for (const std::string_view name : outputs)
    results.push_back(value_of(inner, name, OperandUse::PassedOn));
  return results;
}

ImportedModel Importer::run() {
  check_options(model_.graph, options_);
  const std::int64_t opset =
      std::max<std::int64_t>(opset_of(model_.opset_import, ""), model_.ir_version < 3 ? 1 : 0);
  require_opset(opset, options_.model, options_);
  std::vector<std::string_view> outputs(options_.outputs.begin(), options_.outputs.end());
  if (outputs.empty()) outputs = outputs_of(model_.graph);
  const std::vector<NodeProto> nodes = needed_nodes(model_.graph, outputs);
  require_operators(model_, nodes, options_);
  const NodeScope scope(nullptr, options_.model);
  ImportedModel result;
  Environment environment(nullptr);
  bind_initializers(model_.graph, environment);
  std::unordered_set<std::string_view> used = used_names(nodes);
  used.insert(outputs.begin(), outputs.end());
  bind_inputs(used, environment, result);
  run_nodes(nodes, environment, std::min(opset, kNewestOpset));
  for (const std::string_view name : outputs) {
    result.outputs.push_back(
        {std::string(name), value_of(environment, name, OperandUse::PassedOn)});
  }
  tensors_.list_variables(result);
  for (const NamedValue& input : result.inputs) {
    const auto is_used = [&](const ShapeValues& values) {
      const auto& used = values.used_assumptions();
      return std::find(used.begin(), used.end(), input.value) != used.end();
    };
    if (is_used(shape_values_) || is_used(weight_values_)) result.assumed.push_back(input.name);
  }
  return result;
}

ImportedModel import_model(const ModelProto& model, const ImportOptions& options,
                           const ImportServices& services) {
  return Importer(model, options, services).run();
}

}  // namespace kiln::onnx
