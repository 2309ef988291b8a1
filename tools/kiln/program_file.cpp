#include "tools/kiln/program_file.h"

#include "core/k/base/tensor_impl.h"
#include "core/ops/make.h"
#include "core/types/escaped_text.h"
#include "runtime/files/file_io.h"
#include "runtime/function/compile/build_graph.h"
#include "runtime/model/import_file.h"
#include "runtime/replay/module_file.h"
#include "runtime/weights/array_formats.h"
#include "runtime/weights/file_format.h"
#include "tools/kiln/onnx_file.h"

#include <kiln/files.h>

#include <algorithm>
#include <iostream>

namespace kiln::tool {
namespace {

/// The arrays of the files of --inputs; the last one with a name counts.
std::map<std::string, Array> given_arrays(const std::vector<std::string>& files) {
  std::map<std::string, Array> given;
  for (const std::string& file : files) {
    for (auto& [name, array] : load_arrays(file)) given.insert_or_assign(name, array);
  }
  return given;
}

ProgramFile read_onnx(const ModuleOptions& options) {
  ProgramFile program{
      .module = {}, .run_options = options.run_options(), .outputs = {}, .is_onnx = true};
  ImportOptions import = options.import_options();
  import.trainable = false;
  import.dims.clear();  // those that the model names, below
  for (const std::string& name : OnnxFile(options.file).dim_names()) {
    const auto size = program.run_options.sizes.find(name);
    if (size == program.run_options.sizes.end()) continue;
    import.dims.insert(*size);
    program.run_options.sizes.erase(size);
  }
  const auto imported = api_call("kiln", {}, [&] {
    return runtime::import_file(options.file, import, given_arrays(options.inputs));
  });
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

}  // namespace

bool is_onnx_file(const std::string& path) {
  if (path.ends_with(".onnx")) return true;
  const runtime::InputFile file(path);
  std::string start(std::min<std::uint64_t>(file.size(), runtime::kFormatBytes), '\0');
  file.read(0, std::as_writable_bytes(std::span(start)));
  return runtime::known_format(start) == runtime::kProtobuf;
}

ProgramFile read_program(const ModuleOptions& options) {
  if (is_onnx_file(options.file)) return read_onnx(options);
  if (!options.constants.empty()) {
    throw ValueError("kiln", "--constant",
                     text("--constant is for inputs of ONNX models; ", options.file, " is none"));
  }
  return {.module = runtime::read_module_file(options.file),
          .run_options = options.run_options(),
          .outputs = {},
          .is_onnx = false};
}

}  // namespace kiln::tool
