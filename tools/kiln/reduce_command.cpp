// kiln reduce: finds a smaller module on which two backends disagree.
#include "core/module/print.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/files/file_io.h"
#include "runtime/replay/argument_names.h"
#include "runtime/replay/call_recorder.h"
#include "runtime/weights/safetensors.h"
#include "tools/kiln/command_line.h"
#include "tools/kiln/commands.h"
#include "tools/kiln/program_file.h"
#include "tools/kiln/reduce/reduce.h"

#include <kiln/error.h>

#include <cfloat>
#include <filesystem>
#include <iostream>
#include <memory>

namespace kiln::tool {
namespace {

struct ReduceCommand {
  ModuleOptions module;
  std::vector<std::string> backends;
  std::optional<bool> passes;
  bool as_written = false;
  double tolerance = 1e-5, seconds = 60;
  std::string output;
};

Program program_of(const module::Module& module, const std::vector<Array>& arguments) {
  Program program{.name = module.name, .graph = module.graph, .values = {}};
  std::size_t i = 0;
  for (const ir::Value& input : module.graph.inputs) program.values.emplace(input, arguments[i++]);
  for (const module::StateEntry& entry : module.state) {
    program.values.emplace(entry.variable, arguments[i++]);
  }
  return program;
}

ReduceOptions options_of(const ReduceCommand& command, const Arguments& arguments) {
  if (command.backends.size() != 2) {
    throw ValueError("kiln reduce", "--backends", "--backends names two backends, A,B");
  }
  const bool passes = passes_of(arguments, command.passes);
  return {.runs = {ComparedRun{command.backends[0], passes && !command.as_written},
                   ComparedRun{command.backends[1], passes || command.as_written}},
          .tolerance = command.tolerance,
          .random_call = settings_of(arguments, "", false).random_call,
          .limit = std::chrono::milliseconds(static_cast<std::int64_t>(command.seconds * 1e3))};
}

std::string values_path_of(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".safetensors").string();
}

/// Writes the module and, beside it, the values. Returns the path of these.
std::string write_program(const Program& program, const Arguments& arguments,
                          const std::string& path) {
  const module::Module module = program.to_module();
  const std::string text_form = module::print_module(module);
  runtime::OutputFile file(path, runtime::kRecordMode);
  file.write(std::as_bytes(std::span(text_form)));
  const std::vector<std::string> names = runtime::argument_names(module.graph.inputs, module.state);
  const std::vector<Array> values = program.arguments(module);
  std::vector<runtime::NamedArray> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) tensors.push_back({names[i], values[i]});
  const std::string values_path = values_path_of(path);
  runtime::write_safetensors(values_path, tensors, arguments.metadata, runtime::kRecordMode);
  file.commit();
  return values_path;
}

std::string output_of(const ReduceCommand& command) {
  if (!command.output.empty()) return command.output;
  return std::filesystem::path(command.module.file).replace_extension(".reduced.kir").string();
}

/// Errors: ValueError for a file that the command reads, or that has the extension of the other.
void check_output(const ReduceCommand& command) {
  const std::string path = output_of(command), values = values_path_of(path);
  if (path == values) {
    throw ValueError("kiln reduce", "--output",
                     text("--output ", path, " is for the module; its inputs are .safetensors"));
  }
  command.module.require_other_file(path, "--output");
  command.module.require_other_file(values, "--output");
}

/// Returns the exit status.
int reduce(const ReduceCommand& command) {
  check_output(command);
  const ProgramFile program = read_program(command.module);
  const module::Module& module = program.module;
  const Arguments arguments = arguments_of(module, program.run_options);
  const ReduceOptions options = options_of(command, arguments);
  const std::optional<Reduction> found =
      reduce(program_of(module, arguments.values), options, std::cout);
  if (!found) {
    std::cout << "nothing to reduce: the backends agree, or fail alike\n";
    return 1;
  }
  const std::string path = output_of(command);
  const std::string values = write_program(found->program, arguments, path);
  const std::size_t nodes = size_of(found->program).first;
  std::cout << counted(nodes, "node") << (nodes == 1 ? " is in " : " are in ") << path
            << ", the inputs in " << values << "\n"
            << describe(found->seen, options) << "\n";
  return 0;
}

}  // namespace

void add_reduce(CLI::App& app, int& status) {
  const auto options = std::make_shared<ReduceCommand>();
  CLI::App* command = add_command(
      app, "reduce", "Find a smaller module on which two backends disagree, or one fails",
      "kiln reduce dump/40-module.kir --backends reference,cpu\n"
      "  kiln reduce calls/step-4711-1.kirb --inputs calls/step-4711-1.safetensors "
      "--backends reference,cpu");
  options->module.add_to(command);
  command->add_option("--backends", options->backends, "two names or absolute paths of backends")
      ->delimiter(',')
      ->required()
      ->type_name("A,B");
  add_passes(command, options->passes);
  command->add_flag(
      "--as-written", options->as_written,
      "run FILE without passes on A, with passes on B, which may be the same backend");
  command
      ->add_option("--tolerance", options->tolerance,
                   "largest accepted difference, relative to max(1, |element|)")
      ->check(in_range(0.0, DBL_MAX, "a finite number of at least 0"))
      ->type_name("X");
  command->add_option("--seconds", options->seconds, "seconds until a run that does not end hangs")
      ->check(in_range(0.01, 86400.0))
      ->type_name("S");
  command
      ->add_option("-o,--output", options->output,
                   "file for the smaller module, with its inputs beside it as .safetensors "
                   "[default: FILE with the extension .reduced.kir]")
      ->type_name("FILE");
  command->callback([options, &status] { status = reduce(*options); });
}

}  // namespace kiln::tool
