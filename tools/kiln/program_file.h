// Programs in files, for the commands that run them: modules and models of Kiln, and ONNX models.
#pragma once

#include "tools/kiln/command_line.h"

namespace kiln::tool {

/// A program, and how the command line's options apply to it.
struct ProgramFile {
  module::Module module;  // a model has its weights as constants, and no updates
  RunOptions run_options;  // without sizes that are part of the program
  std::vector<std::string> outputs;  // names of the outputs of a model
  bool is_model = false;
};

/// Reads the options' FILE. For an ONNX model, --dim sets dims that it names, and --constant
/// inputs; an input of --inputs whose value decides shapes is assumed to have that value, which a
/// line on stderr says. Throws IoError; ValueError for --constant and another file.
ProgramFile read_program(const ModuleOptions& options);

/// Whether a file is an ONNX model, by its name or its first bytes.
bool is_onnx_file(const std::string& path);
/// Whether a file is a model of Kiln (.kiln), by its first bytes.
bool is_model_file(const std::string& path);

}  // namespace kiln::tool
