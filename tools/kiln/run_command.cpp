// kiln run: calls a module or a model once.
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/replay/argument_names.h"
#include "runtime/replay/call_recorder.h"
#include "runtime/weights/array_formats.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/module_runner.h"
#include "tools/kiln/program_file.h"

#include <kiln/backend.h>
#include <kiln/distributed.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace kiln::tool {
namespace {

struct RunCommand {
  ModuleOptions module;
  std::string backend, outputs;
  std::optional<bool> passes;
};

/// As the user chose, else as the recorded call was made; a model as K::function would run it.
RunSettings settings_of(const RunCommand& options, const ProgramFile& program,
                        const Arguments& arguments) {
  if (program.is_model) {
    return settings_of(arguments, options.backend.empty() ? backend_choice().name : options.backend,
                       options.passes.value_or(true));
  }
  const auto recorded = arguments.metadata.find(runtime::kRecordBackend);
  const bool is_recorded = options.backend.empty() && recorded != arguments.metadata.end();
  const std::string chosen = options.backend.empty() ? "reference" : options.backend;
  const std::string backend = is_recorded ? recorded->second : chosen;
  // A file of values may come from anywhere: it must not choose code that this process opens.
  if (is_recorded && backend.find('/') != backend.npos) {
    throw ValueError("kiln run", "--inputs",
                     text("the call was recorded on the backend ", escaped_text(backend),
                          "; --backend selects a backend by its path"));
  }
  return settings_of(arguments, backend, passes_of(arguments, options.passes));
}

/// Rejects a file that cannot have the results, before they are computed.
void require_fitting_format(const module::Module& module, const std::string& path) {
  if (const std::string reason = runtime::keras3_rejection(path); !reason.empty()) {
    throw ValueError("kiln run", "--outputs", reason);
  }
  const std::size_t count = module.graph.outputs.size() + module.graph.updates.size();
  if (!path.ends_with(".npy") || count == 1) return;
  throw ValueError(
      "kiln run", "--outputs",
      text(path, ": a .npy file holds one array, not ", count, "; .npz holds several"));
}

/// The outputs' names, which those without one get from their positions.
std::vector<std::string> output_names(std::vector<std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = text("output_", i);
  }
  return runtime::distinct_names(std::move(names));
}

void write_outputs(const Outcome& outcome, const std::string& path) {
  std::vector<runtime::NamedArray> tensors;
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    tensors.push_back({outcome.names[i], outcome.outputs[i]});
  }
  runtime::write_array_file(path, tensors);
}

void print_outputs(const module::Module& module, const Outcome& outcome) {
  const std::size_t outputs = module.graph.outputs.size();
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const Array& array = outcome.outputs[i];
    std::cout << (i < outputs ? text("output ", i) : text("update ", i - outputs)) << " "
              << array.dtype() << "[" << join_text(array.dims(), ",") << "]\n"
              << array << "\n";
  }
}

/// Joins the ranks that a launcher started, for a module with collectives.
std::optional<distributed::Session> session_of(const module::Module& module) {
  if (!ir::reaches(module.graph.roots(), ir::Op::Collective)) return std::nullopt;
  return distributed::init();
}

void run(const RunCommand& options) {
  options.module.require_other_file(options.outputs, "--outputs");
  const ProgramFile program = read_program(options.module);
  const module::Module& module = program.module;
  require_fitting_format(module, options.outputs);
  const std::optional<distributed::Session> session = session_of(module);
  const Arguments arguments = arguments_of(module, program.run_options);
  const RunSettings settings = settings_of(options, program, arguments);
  Outcome outcome = run_module(module, arguments.values, settings);
  if (program.is_model) outcome.names = output_names(program.outputs);
  if (session && !session->is_root()) return;
  if (options.outputs.empty()) {
    print_outputs(module, outcome);
  } else {
    write_outputs(outcome, options.outputs);
    std::cout << join_text(outcome.names) << " are in " << options.outputs << "\n";
  }
  std::cout << outcome.seconds * 1e3 << " ms on " << settings.backend << "\n";
}

}  // namespace

void add_run(CLI::App& app) {
  const auto options = std::make_shared<RunCommand>();
  CLI::App* command = add_command(
      app, "run", "Run a module or a model with inputs from files, or random ones",
      "kiln run dump/40-module.kir --backend cpu --dim x.0=32\n"
      "  kiln run net.onnx --inputs in.npz --outputs out.npz --dim batch=8\n"
      "  kiln launch -n 4 -- kiln run train/00-user.kir  # of a group: the root prints\n"
      "  KILN_RECORD=calls ./program       # writes the inputs of a call that throws\n"
      "  kiln run calls/step-4711-1.kirb --inputs calls/step-4711-1.safetensors");
  options->module.add_to(command);
  command
      ->add_option("--outputs", options->outputs,
                   "file for the results and the updated variables, which are then not printed: a "
                   "NumPy archive if it ends in .npz, a NumPy array if in .npy, HDF5 if in .h5, "
                   "else safetensors")
      ->type_name("FILE");
  command
      ->add_option("--backend", options->backend,
                   "name or absolute path of a backend [default: that of the recorded call, if it "
                   "was selected by name, else reference; for a model the usual one]")
      ->type_name("NAME");
  add_passes(command, options->passes);
  command->callback([options] { run(*options); });
}

}  // namespace kiln::tool
