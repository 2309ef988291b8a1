// Chooses the reader by the first bytes of the file.
#include <kiln/model.h>

#include "core/ir/argument_text.h"
#include "core/k/base/tensor_impl.h"
#include "runtime/files/file_io.h"
#include "runtime/files/quoted_name.h"
#include "runtime/function/load_module.h"
#include "runtime/model/import_file.h"
#include "runtime/model/model_file.h"
#include "runtime/model/variable_values.h"
#include "runtime/replay/argument_names.h"
#include "runtime/replay/module_file.h"
#include "runtime/variable/make_variable.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/user_file.h"

namespace kiln {
namespace {

Model load_model_file(const std::string& path) {
  runtime::ModelFile file = runtime::read_model_file(path);
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < file.values.size(); ++i) {
    variables.push_back(
        runtime::make_variable(std::move(file.values[i]), file.manifest.names.variables[i]));
  }
  Model model = runtime::model_of(file.module, file.manifest.names, variables);
  model.metadata = file.manifest.metadata;
  return model;
}

/// New variables for those of a module, with their values in the file `weights`. ValueError for a
/// variable that is not in the file with its type, and for any if `weights` is empty.
std::vector<Variable> variables_of(const module::Module& module,
                                   const std::vector<std::string>& names,
                                   const std::string& weights) {
  const auto require = [&](std::size_t i, const std::string& reason) {
    if (reason.empty()) return;
    Call::value_error("weights",
                      text("the module has the variable ", runtime::quoted_name(names[i]), " ",
                           module.state[i].variable.type(), ", which ", reason));
  };
  std::vector<Variable> variables;
  if (names.empty()) return variables;
  if (weights.empty()) require(0, "needs a file of `weights`");
  const std::unique_ptr<runtime::ArrayFile> file = runtime::open_array_file(weights);
  const runtime::VariableValues stored(*file);
  for (std::size_t i = 0; i < names.size(); ++i) {
    require(i, stored.rejection(names[i], module.state[i].variable.type(), weights));
    variables.push_back(runtime::make_variable(stored.read(names[i]), names[i]));
  }
  return variables;
}

Model load_module_file(const std::string& path, const std::string& weights) {
  const module::Module module = runtime::read_module_file(path);
  if (!weights.empty() && module.state.empty()) {
    Call::value_error("weights",
                      text(path, " has no variables, whose values ", weights, " could have"));
  }
  runtime::ModelNames names;
  for (const ir::Value& input : module.graph.inputs) {
    names.inputs.emplace_back(given_name(*input.node));
  }
  names.outputs.resize(module.graph.outputs.size());
  names.variables = runtime::variable_names(module);
  for (const module::StateEntry& entry : module.state) {
    names.is_trained.push_back(is_float(entry.variable.dtype()));
  }
  return runtime::model_of(module, names, variables_of(module, names.variables, weights));
}

}  // namespace

Model load_model(const StringArgument& path, const LoadModelOptions& options, Where where) {
  return api_call("load_model", where, [&] {
    return runtime::with_file(where, [&] {
      const std::string_view format =
          runtime::known_format(runtime::first_bytes(runtime::InputFile(path)));
      const bool is_model = format == runtime::kModel;
      if (!options.weights.empty() && (is_model || format == runtime::kProtobuf)) {
        Call::value_error("weights",
                          text(path, " has its own weights; only a module needs a file of them"));
      }
      if (is_model) return load_model_file(path);
      if (format == runtime::kProtobuf) return runtime::import_file(path, {}).model;
      return load_module_file(path, options.weights);
    });
  });
}

}  // namespace kiln
