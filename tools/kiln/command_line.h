// The parts that all commands share: how one is added, and the options that name a module.
#pragma once

#include "core/types/text.h"
#include "tools/examples/help_format.h"
#include "tools/kiln/module_runner.h"

#include <kiln/onnx.h>

#include <optional>
#include <string>
#include <vector>

namespace kiln::tool {

/// Adds a command. `example`: a command line that --help prints.
CLI::App* add_command(CLI::App& app, const char* name, const char* description,
                      const std::string& example);

/// Adds the option --passes[=true|false] of commands that run a recorded call. REQUIRES: `passes`
/// outlives the command.
void add_passes(CLI::App* command, std::optional<bool>& passes);

/// The options of the commands that run a module.
struct ModuleOptions {
  std::string file;
  std::vector<std::string> dims, inputs, constants;
  std::optional<unsigned> seed = {};

  void add_to(CLI::App* command);
  /// The options without FILE.
  void add_inputs_to(CLI::App* command);
  /// The options --dim and --constant for the import of an ONNX model.
  void add_import_to(CLI::App* command);
  RunOptions run_options() const;
  /// `dims` and `constants` as options of import_onnx. ValueError for a --constant that is none.
  ImportOptions import_options() const;
  /// Errors: ValueError for an output file that is FILE or a file of --inputs.
  void require_other_file(const std::string& output, const char* option) const;
};

}  // namespace kiln::tool
