// Lists the ONNX operators that are imported, and calls a model several times.
#include "core/k/base/call.h"
#include "core/onnx/import/import.h"
#include "core/onnx/import/table.h"
#include "runtime/array/host_values.h"
#include "runtime/weights/array_formats.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/onnx_file.h"

#include <kiln/backend.h>
#include <kiln/files.h>
#include <kiln/function.h>
#include <kiln/onnx.h>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

struct OnnxCommand {
  ModuleOptions module;
  std::string backend;
  std::vector<std::string> calls;  // IN, OUT, IN, OUT, ..
  int repeat = 1;
};

std::vector<const onnx::OperatorRow*> sorted_rows() {
  std::vector<const onnx::OperatorRow*> rows;
  for (const auto group : onnx::operator_groups()) {
    for (const onnx::OperatorRow& row : group) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  return rows;
}

/// One line an operator: its name, and the opset from which it is imported or why it is not.
void print_table() {
  std::size_t imported = 0;
  for (const onnx::OperatorRow* row : sorted_rows()) {
    std::cout << std::left << std::setw(28) << row->name;
    if (row->import) {
      ++imported;
      std::cout << "from opset " << std::max<std::int64_t>(row->since.first(), onnx::kOldestOpset);
    } else {
      std::cout << "not imported: " << row->reason;
    }
    std::cout << "\n";
  }
  std::cout << imported << " operators of the default domain are imported, opsets "
            << onnx::kOldestOpset << " to " << onnx::kNewestOpset << "\n";
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3;
}

/// The inputs with a default that the model keeps, as no --constant replaces it.
std::vector<std::string> kept_defaults(const ModuleOptions& options) {
  const ImportOptions import = options.import_options();
  std::vector<std::string> names = OnnxFile(options.file).defaulted_inputs();
  std::erase_if(names, [&](const std::string& name) { return import.constants.contains(name); });
  return names;
}

/// ValueError for an element that an integer input cannot hold, fractions included.
void require_representable(const Array& array, DType dtype, const std::string& name) {
  const auto element = runtime::find_inexact(array, dtype);
  if (!element) return;
  throw ValueError("kiln onnx", "--call",
                   text(element->describe(name), " (the file has ", array.dtype(), ")"));
}

/// The inputs of the model by their names in the file. ValueError for an array of an input that is
/// in `defaults`: the function is compiled with the default for all calls.
std::vector<Array> read_inputs(const Function& function, const std::vector<std::string>& defaults,
                               const std::string& path) {
  const std::map<std::string, Array> arrays = load_arrays(path);
  for (const std::string& name : defaults) {
    if (!arrays.contains(name)) continue;
    throw ValueError("kiln onnx", "--call",
                     text(path, " has an array '", name, "', an input with a default: --constant ",
                          name, "=.. replaces that for all calls"));
  }
  std::vector<Array> inputs;
  for (const TensorSpec& input : function.inputs()) {
    const auto found = arrays.find(input.name);
    if (found == arrays.end()) {
      throw ValueError("kiln onnx", "--call", text(path, " has no array '", input.name, "'"));
    }
    require_representable(found->second, input.dtype, text("array '", input.name, "' of ", path));
    inputs.push_back(found->second);
  }
  return inputs;
}

struct TimedCall {
  std::vector<Array> outputs;
  double first = 0, best = 0;  // milliseconds
};

TimedCall timed_call(const Function& function, const std::vector<Array>& inputs, int repeat) {
  auto start = std::chrono::steady_clock::now();
  TimedCall call{.outputs = function(inputs)};
  call.first = call.best = milliseconds_since(start);
  for (int i = 1; i < repeat; ++i) {
    start = std::chrono::steady_clock::now();
    function(inputs);
    call.best = std::min(call.best, milliseconds_since(start));
  }
  return call;
}

void write_outputs(const Model& model, const std::vector<Array>& outputs, const std::string& path) {
  std::map<std::string, Array> named;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    named.emplace(model.outputs[i].name(), outputs[i]);
  }
  save_arrays(path, named);
}

/// Rejects files that cannot be written, before results are computed.
void require_known_extensions(const std::vector<std::string>& calls) {
  for (std::size_t i = 1; i < calls.size(); i += 2) {
    const std::string unknown = runtime::unknown_extension_text(calls[i]);
    if (!unknown.empty()) throw ValueError("kiln onnx", "--call", unknown);
  }
}

/// Imports and compiles the model once, and calls it for each --call.
void call_each(const OnnxCommand& command) {
  auto start = std::chrono::steady_clock::now();
  const Model model = import_onnx(command.module.file, command.module.import_options(), Where{});
  std::cout << "import " << milliseconds_since(start) << " ms\n";
  start = std::chrono::steady_clock::now();
  const Function function =
      kiln::function(model.inputs, model.outputs, {.backend = command.backend});
  std::cout << "function " << milliseconds_since(start) << " ms\n";
  const std::vector<std::string> defaults = kept_defaults(command.module);
  for (std::size_t i = 0; i + 1 < command.calls.size(); i += 2) {
    const TimedCall call =
        timed_call(function, read_inputs(function, defaults, command.calls[i]), command.repeat);
    write_outputs(model, call.outputs, command.calls[i + 1]);
    std::cout << "call " << i / 2 << " first " << call.first << " ms, best " << call.best
              << " ms\n";
  }
  std::cout << "code generated " << function.stats().code_generations << " times\n";
}

void call_model(const OnnxCommand& command) {
  require_known_extensions(command.calls);
  api_call("kiln onnx", {}, [&] { call_each(command); });
}

}  // namespace

void add_onnx(CLI::App& app) {
  const auto options = std::make_shared<OnnxCommand>();
  CLI::App* command = add_command(
      app, "onnx", "List the ONNX operators that are imported, or call a model at several sizes",
      "kiln onnx --table\n"
      "  kiln onnx net.onnx --call small.npz a.npz --call large.npz b.npz --repeat 10");
  CLI::Option* file =
      command->add_option("FILE", options->module.file, "ONNX model [default: print the table]");
  command->add_flag("--table")
      ->description("list all operators, with the reasons of those that are not imported")
      ->excludes(file);
  command
      ->add_option("--call", options->calls,
                   "a file of inputs, and the .npz of outputs to write; repeated calls are of one "
                   "compiled function")
      ->type_size(2)
      ->type_name("IN OUT")
      ->needs(file);
  command->add_option("--repeat", options->repeat, "times that each call is timed [default: 1]")
      ->check(in_range(1, 1000000))
      ->type_name("N");
  command->add_option("--backend", options->backend, "name or absolute path [default: the usual]")
      ->type_name("NAME");
  options->module.add_import_to(command);
  command->callback([options] {
    if (options->module.file.empty()) return print_table();
    api_call("kiln onnx", {}, [&] { call_model(*options); });
  });
}

}  // namespace kiln::tool
