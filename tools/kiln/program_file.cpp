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
#include <array>
#include <charconv>
#include <iostream>

namespace kiln::tool {
namespace {

/// The value of a --constant, NAME=NUMBER or NAME=NUMBER,NUMBER, as float64; the importer converts
/// it to the dtype of the input.
std::pair<std::string, Array> constant_of(const std::string& option) {
  const std::size_t equals = option.find('=');
  std::vector<double> numbers;
  for (std::size_t begin = equals + 1; equals != option.npos && begin <= option.size();) {
    const std::size_t end = std::min(option.find(',', begin), option.size());
    double number = 0;
    const auto [stop, error] = std::from_chars(option.data() + begin, option.data() + end, number);
    if (error != std::errc() || stop != option.data() + end) break;
    numbers.push_back(number);
    begin = end + 1;
    if (end == option.size()) {
      const Array value = numbers.size() == 1 ? Array(numbers[0]) : Array(numbers);
      return {option.substr(0, equals), value};
    }
  }
  throw ValueError("kiln", "--constant",
                   text("'", escaped_text(option), "' is not NAME=NUMBER or NAME=NUMBER,NUMBER"));
}

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
  ImportOptions import{.trainable = false};
  for (const std::string& name : OnnxFile(options.file).dim_names()) {
    const auto size = program.run_options.sizes.find(name);
    if (size == program.run_options.sizes.end()) continue;
    import.dims.insert(*size);
    program.run_options.sizes.erase(size);
  }
  for (const std::string& constant : options.constants) {
    import.constants.insert(constant_of(constant));
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
