// Builds the graph of an ONNX model from the primitives of core/ops. Entry: import_model().
#pragma once

#include "core/ir/node.h"
#include "core/onnx/file/model.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kiln::onnx {

/// The versions of the default domain that the table of ops covers.
inline constexpr std::int64_t kOldestOpset = 6, kNewestOpset = 28;

struct ImportOptions {
  std::string model;  // the name of the model in texts and scopes: "net.onnx"
  std::map<std::string, std::int64_t> dims = {};  // sizes of named dims
  std::map<std::string, ir::Value> constants = {};  // inputs that are constants
  /// Values with which the caller will feed inputs: constants with static dims. They decide what
  /// must be known while importing; ImportedModel::assumed names those that did.
  std::map<std::string, ir::Value> given = {};
  std::vector<std::string> outputs = {};  // values to compute; empty: those of the model
  bool trainable = true;  // false: initializers are constants
  bool allow_newer_opset = false;
};

/// The importer's view of files and variables, which core has none of.
struct ImportServices {
  /// Returns a new variable of this name, type and value.
  std::function<ir::Value(const std::string& name, const ir::Type& type,
                          std::span<const std::byte> value)>
      variable;
  /// Returns `size` bytes of external data, which live as long as the import. Throws IoError.
  std::function<std::span<const std::byte>(const ExternalData& data, std::size_t size)> external;
};

struct NamedValue {
  std::string name;
  ir::Value value;
};

struct ImportedModel {
  std::vector<NamedValue> inputs, outputs;
  std::vector<NamedValue> variables;  // in the order of the file
  /// Whether each variable is trained: running statistics of batch normalisation are not.
  std::vector<bool> is_trained;
  std::vector<std::string> assumed;  // inputs whose given values decided something
};

/// Imports a model. Throws ValueError: for ops that the importer does not have, all of them in one
/// table, before anything is built; for options that name nothing; and, with the name of the node,
/// for what a node does not accept; TypeError for element types that Kiln lacks, MalformedModel for
/// a damaged graph, and what the services throw. REQUIRES: a Call is running.
ImportedModel import_model(const ModelProto& model, const ImportOptions& options,
                           const ImportServices& services);

}  // namespace kiln::onnx
