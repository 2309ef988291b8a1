// Models become modules with constants, which the commands for modules run.
#include "tools/kiln/program_file.h"

#include "core/k/base/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/types/escaped_text.h"
#include "runtime/files/file_io.h"
#include "runtime/function/compile/build_graph.h"
#include "runtime/model/import_file.h"
#include "runtime/model/model_file.h"
#include "runtime/replay/module_file.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/file_format.h"
#include "tools/kiln/onnx_file.h"

#include <kiln/files.h>

#include <algorithm>
#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

/// The arrays of the files of --inputs, but for those of a dtype that Kiln lacks, which a model may
/// not need; the last one with a name counts.
std::map<std::string, Array> given_arrays(const std::vector<std::string>& paths) {
  std::map<std::string, Array> given;
  for (const std::string& path : paths) {
    const std::unique_ptr<runtime::ArrayFile> file = runtime::open_array_file(path);
    for (const runtime::TensorEntry& tensor : file->tensors()) {
      if (tensor.other_dtype.empty()) given.insert_or_assign(tensor.name, file->read(tensor));
    }
  }
  return given;
}

ProgramFile read_onnx(const ModuleOptions& options) {
  ProgramFile program{
      .module = {}, .run_options = options.run_options(), .outputs = {}, .is_model = true};
  ImportOptions import = options.import_options();
  import.trainable = false;
  import.dims.clear();  // those that the model names, below
  const OnnxFile file(options.file);
  for (const std::string& name : file.dim_names()) {
    const auto size = program.run_options.sizes.find(name);
    if (size == program.run_options.sizes.end()) continue;
    import.dims.insert(*size);
    program.run_options.sizes.erase(size);
  }
  const std::map<std::string, Array> given =
      api_call("kiln", {}, [&] { return given_arrays(options.inputs); });
  for (const std::string& name : file.defaulted_inputs()) {
    const auto array = given.find(name);
    if (array != given.end()) import.constants.insert(*array);
  }
  const auto imported =
      api_call("kiln", {}, [&] { return runtime::import_file(options.file, import, given); });
  for (const std::string& name : imported.assumed) {
    std::cerr << "input '" << escaped_text(name)
              << "' decides shapes: the model is compiled for its value\n";
  }
  const Model& model = imported.model;
  const ir::Graph graph =
      api_call("kiln", {}, [&] { return runtime::build_graph(model.inputs, model.outputs, {}); });
  const std::string name = options.file.substr(options.file.rfind('/') + 1);
  program.module = module::make_module(graph, ir::collect_guards(graph.roots()), name);
  for (const Tensor& output : model.outputs) program.outputs.push_back(output.name());
  return program;
}

/// The module with the values of its variables in their place.
module::Module with_values(const runtime::ModelFile& file, const std::string& name) {
  ir::Replacements replacements;
  for (std::size_t i = 0; i < file.values.size(); ++i) {
    const ir::Value& variable = file.module.state[i].variable;
    const auto* bytes = static_cast<const std::byte*>(file.values[i].data());
    replacements.emplace(variable,
                         ir::constant(variable.type(), {bytes, bytes + file.values[i].bytes()}));
  }
  ir::Graph graph = file.module.graph;
  graph.updates.clear();
  graph = ir::replace_values(graph, replacements);
  return module::make_module(graph, file.module.guards, name);
}

ProgramFile read_model(const ModuleOptions& options) {
  const runtime::ModelFile file = runtime::read_model_file(options.file);
  return {.module = with_values(file, options.file.substr(options.file.rfind('/') + 1)),
          .run_options = options.run_options(),
          .outputs = file.manifest.names.outputs,
          .is_model = true};
}

std::string_view format_of(const std::string& path) {
  return runtime::known_format(runtime::first_bytes(runtime::InputFile(path)));
}

}  // namespace

bool is_onnx_file(const std::string& path) {
  return path.ends_with(".onnx") || format_of(path) == runtime::kProtobuf;
}

bool is_model_file(const std::string& path) { return format_of(path) == runtime::kModel; }

ProgramFile read_program(const ModuleOptions& options) {
  if (is_onnx_file(options.file)) return read_onnx(options);
  if (!options.constants.empty()) {
    throw ValueError("kiln", "--constant",
                     text("--constant is for inputs of ONNX models; ", options.file, " is none"));
  }
  if (is_model_file(options.file)) return read_model(options);
  return {.module = runtime::read_module_file(options.file),
          .run_options = options.run_options(),
          .outputs = {},
          .is_model = false};
}

}  // namespace kiln::tool
