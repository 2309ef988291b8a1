// Imports ONNX models onto the graph, where they run, and train, as what K functions made.
#pragma once

#include <kiln/array.h>
#include <kiln/model.h>
#include <kiln/string_argument.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln {

struct ImportOptions {
  /// Sizes of unknown dims, by the file's names ("batch", "height"), or "x.1" for axis 1 of the
  /// input x where it has none. Others stay symbolic: one compiled function serves every size.
  std::map<std::string, std::int64_t> dims = {};
  /// Values of inputs, which become constants and are no inputs of the model: rates, flags and
  /// sizes on which the model decides what to compute. They replace defaults that the model has.
  std::map<std::string, Array> constants = {};
  /// Names of the values to compute, of any node of the model; empty: the model's outputs. Nodes
  /// that they do not need are not imported.
  std::vector<std::string> outputs = {};
  /// Whether floating-point weights are variables. False: they are constants. Scalars always are.
  Flag trainable = true;
  /// Reads a model of a newer operator set than this version knows as if it were the newest known.
  Flag allow_newer_opset = false;
};

/// Imports the model of an ONNX file, operator sets 6 to 28. Nodes keep their ONNX names as name
/// scopes, so that errors, dumps and profiles speak of them. Weights are read once and become
/// variables of the file's names and shapes; `If` is decided by sizes and constants where it can
/// be. Data in other files is read from the model's folder, never from elsewhere.
/// Errors: IoError for a file that cannot be read, is damaged or no ONNX model; ValueError with a
/// table of the operators that are not imported, before anything is built, for what a node does not
/// accept, with the node's name, for operator sets before 6 and, unless allowed, after 28, and for
/// options that name nothing in the model; TypeError for element types that Kiln does not have.
///     // const auto m = K::import_onnx("net.onnx", {.dims = {{"height", 224}}});
///     // K::function(m.inputs, m.outputs)({image});
[[nodiscard]] KILN_API Model import_onnx(const StringArgument& path,
                                         const ImportOptions& options = {},
                                         Where where = Where::here());

}  // namespace kiln
