// Reads the module, replaces its variables, which have no values, and compiles it.
#include "runtime/function/load_module.h"

#include "core/ir/argument_text.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/types/at_line.h"
#include "core/types/nearest.h"
#include "runtime/files/quoted_name.h"
#include "runtime/function/function_program.h"
#include "runtime/replay/argument_names.h"
#include "runtime/replay/module_file.h"
#include "runtime/variable/make_variable.h"
#include "runtime/weights/safetensors.h"

#include <algorithm>
#include <optional>

namespace kiln {
namespace {

using module::Module;

/// Returns work(); its IoErrors name the user's call.
template <class Work>
decltype(auto) reading_file(const char* argument, const Work& work) {
  try {
    return work();
  } catch (const IoError& error) {
    throw IoError(Call::function(), argument, error.message(), Call::where());
  }
}

/// The tensors of the file `weights` that the module has variables for.
class WeightsFile {
 public:
  explicit WeightsFile(const std::string& path) {
    if (path.empty()) return;
    reading_file("weights", [&] { file_.emplace(path); });
  }

  std::optional<Array> find(const std::string& name) const {
    if (!file_) return std::nullopt;
    const auto& tensors = file_->tensors();
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& tensor) { return tensor.name == name; });
    if (found == tensors.end()) return std::nullopt;
    if (!found->other_dtype.empty()) {
      Call::type_error("weights", text("tensor ", runtime::quoted_name(name), " is ",
                                       found->other_dtype, ", which Kiln does not have"));
    }
    return reading_file("weights", [&] { return file_->read(*found); });
  }

 private:
  std::optional<runtime::SafetensorsFile> file_;
};

void require_type(const std::string& name, const ir::Type& type, const Variable& variable) {
  const ir::Type& given = value_of(variable, "variables").type();
  if (given == type) return;
  const std::string message =
      text("variable ", runtime::quoted_name(name), " is ", given, " but the module has ", type);
  if (given.dtype != type.dtype) Call::type_error("variables", message);
  Call::value_error("variables", message);
}

[[noreturn]] void reject_unknown(const std::string& name, const std::vector<std::string>& names) {
  Call::value_error(
      "variables",
      text("the module has no variable ", runtime::quoted_name(name), did_you_mean(name, names),
           names.empty() ? "; it has none" : text("; its variables: ", join_text(names))));
}

/// The entry of the module's state that has this name in `names`, which are distinct, or else is
/// the only one that has it in the module.
std::size_t entry_of(const std::string& name, const Module& module,
                     const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto has_name = [&](const module::StateEntry& entry) {
    return given_name(*entry.variable.node) == name;
  };
  const auto& state = module.state;
  if (std::count_if(state.begin(), state.end(), has_name) != 1) reject_unknown(name, names);
  return static_cast<std::size_t>(std::find_if(state.begin(), state.end(), has_name) -
                                  state.begin());
}

using GivenVariables = std::vector<std::optional<Variable>>;  // by the entry of the module's state

GivenVariables given_variables(const Module& module, const std::vector<std::string>& names,
                               const std::vector<Tensor>& variables) {
  GivenVariables given(names.size());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const ir::Value value = value_of(variables, i, "variables");
    if (value.node->op != ir::Op::Variable) {
      Call::type_error("variables",
                       text("variables[", i, "] is not a variable (", variables[i], ")"));
    }
    const std::string& name = value.node->as<ir::VariableAttrs>().name;
    std::optional<Variable>& entry = given[entry_of(name, module, names)];
    if (entry) {
      Call::value_error("variables", text("two variables are named ", runtime::quoted_name(name)));
    }
    entry = Variable(variables[i]);
  }
  return given;
}

/// One variable for each entry of the module's state.
std::vector<Variable> variables_of(const Module& module, const LoadModuleOptions& options) {
  const std::vector<std::string> names = runtime::variable_names(module);
  const GivenVariables given = given_variables(module, names, options.variables);
  const WeightsFile weights(options.weights);
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ir::Type& type = module.state[i].variable.type();
    if (given[i]) {
      variables.push_back(*given[i]);
    } else if (const std::optional<Array> value = weights.find(names[i])) {
      variables.push_back(runtime::make_variable(*value, names[i]));
    } else {
      Call::value_error(
          "variables",
          text("the module has the variable ", names[i], " ", type, ", which is ",
               options.weights.empty() ? "" : text("not in ", options.weights, " and "),
               "not among `variables`"));
    }
    require_type(names[i], type, variables.back());
  }
  return variables;
}

}  // namespace

namespace runtime {

std::vector<std::string> variable_names(const Module& module) {
  std::vector<std::string> names = argument_names(module.graph.inputs, module.state);
  names.erase(names.begin(),
              names.begin() + static_cast<std::ptrdiff_t>(module.graph.inputs.size()));
  return names;
}

Function compile_module(const Module& module, const std::vector<Variable>& variables,
                        const FunctionOptions& options, Where where) {
  ir::Replacements replacements;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    replacements.emplace(module.state[i].variable, value_of(variables[i], "variables"));
  }
  FunctionParts parts{.graph = ir::replace_values(module.graph, replacements)};
  for (ir::Update& update : parts.graph.updates) update.variable = replacements.at(update.variable);
  parts.sparse.assign(module.graph.inputs.size(), false);
  parts.output_names.resize(module.graph.outputs.size());
  parts.guards = module.guards;
  return compile_function(std::move(parts), options, where);
}

}  // namespace runtime

Function load_module(const StringArgument& path, const LoadModuleOptions& options, Where where) {
  return api_call("load_module", where, [&] {
    const Module module = reading_file("path", [&] { return runtime::read_module_file(path); });
    return runtime::compile_module(module, variables_of(module, options),
                                   {.name = options.name.empty() ? module.name : options.name,
                                    .backend = options.backend,
                                    .dump = options.dump,
                                    .dump_stages = options.dump_stages,
                                    .optimize = options.optimize,
                                    .check_numerics = options.check_numerics,
                                    .random = options.random},
                                   where);
  });
}

}  // namespace kiln
