// Saves the graph that `function` would build, without passes.
#include <kiln/model.h>

#include "core/ir/argument_text.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/make.h"
#include "runtime/function/compile/build_graph.h"
#include "runtime/model/model_file.h"
#include "runtime/replay/argument_names.h"
#include "runtime/weights/user_file.h"

#include <algorithm>

namespace kiln {
namespace {

void require_dense(const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!sparse_of(inputs[i])) continue;
    Call::value_error(
        "inputs", text("inputs[", i, "] is sparse; a model has dense inputs (", inputs[i], ")"));
  }
}

/// Rejects a path with the extension of another format, whose readers would call the file damaged.
void require_own_extension(const std::string& path) {
  for (const char* other : {".onnx", ".npz", ".npy", ".h5", ".hdf5", ".keras", ".safetensors"}) {
    if (!path.ends_with(other)) continue;
    Call::value_error("path", text(path, " ends in '", other, "'; models are written as .kiln"));
  }
}

runtime::ModelFile file_of(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                           const SaveModelOptions& options) {
  require_dense(inputs);
  const ir::Graph graph = runtime::build_graph(inputs, outputs, options.updates);
  runtime::ModelFile file;
  file.module = module::make_module(graph, ir::collect_guards(graph.roots()));
  runtime::ModelNames& names = file.manifest.names;
  for (const Tensor& input : inputs) {
    names.inputs.emplace_back(given_name(*value_of(input, "inputs").node));
  }
  for (const Tensor& output : outputs) names.outputs.push_back(output.name());
  names.variables = runtime::argument_names({}, file.module.state);
  file.manifest.metadata = options.metadata;
  std::vector<Tensor> variables;
  for (const module::StateEntry& entry : file.module.state) {
    variables.push_back(wrap(entry.variable));
    names.is_trained.push_back(is_float(entry.variable.dtype()));
  }
  file.values = batch_get_value(variables);
  return file;
}

}  // namespace

void save_model(const StringArgument& path, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& outputs, const SaveModelOptions& options, Where where) {
  api_call("save_model", where, [&] {
    require_own_extension(path);
    const runtime::ModelFile file = file_of(inputs, outputs, options);
    runtime::with_file(where, [&] { runtime::write_model_file(path, file); });
  });
}

void save_model(const StringArgument& path, const Model& model, Where where) {
  api_call("save_model", where, [&] {
    require_own_extension(path);
    runtime::ModelFile file = file_of(model.inputs, model.outputs,
                                      {.updates = model.updates, .metadata = model.metadata});
    for (std::size_t i = 0; i < file.module.state.size(); ++i) {
      const auto is_entry = [&](const Variable& one) {
        return value_of(one, "trainable") == file.module.state[i].variable;
      };
      file.manifest.names.is_trained[i] =
          std::any_of(model.trainable.begin(), model.trainable.end(), is_entry);
    }
    runtime::with_file(where, [&] { runtime::write_model_file(path, file); });
  });
}

}  // namespace kiln
