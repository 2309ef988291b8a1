// Model: a graph with its inputs, outputs and variables, as a file holds it. kiln/onnx.h reads one.
#pragma once

#include <kiln/update.h>
#include <kiln/variable.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// A graph read from a file. Tensors are ordinary ones: they can be differentiated, used in further
/// functions of K, and compiled for any backend.
struct Model {
  std::vector<Tensor> inputs;  ///< placeholders with the file's names
  std::vector<Tensor> outputs;  ///< with the file's names
  std::vector<Variable> variables;  ///< all, in the order and with the names of the file
  /// The variables that training updates: those of `variables` but for running statistics.
  std::vector<Variable> trainable;
  std::map<std::string, std::string> metadata;  ///< texts of the file by their keys

  /// Returns the tensor of that name. Errors: ValueError with the nearest name for an unknown one.
  KILN_API Tensor input(std::string_view name, Where where = Where::here()) const;
  KILN_API Tensor output(std::string_view name, Where where = Where::here()) const;
  KILN_API Variable variable(std::string_view name, Where where = Where::here()) const;
};

}  // namespace kiln
