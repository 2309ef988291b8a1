// GraphImporter: the import as a node sees it: names of its graph, and graphs inside it.
#pragma once

#include "core/k/shape/shape_values.h"
#include "core/onnx/file/model.h"
#include "core/onnx/import/environment.h"
#include "core/onnx/import/tensor_values.h"

#include <optional>
#include <string_view>
#include <vector>

namespace kiln::onnx {

class GraphImporter {
 public:
  virtual ~GraphImporter() = default;

  /// The value of a name, which a node uses so. Throws MalformedModel if no node before has made
  /// it.
  virtual ir::Value value_of(Environment& environment, std::string_view name, OperandUse use) = 0;
  /// The elements of a value that are known while importing; nullopt if it is large.
  virtual std::optional<ShapeElements> elements_of(Environment& environment,
                                                   std::string_view name) = 0;
  /// The same, in which the elements of small weight vectors count as known: for what has to be a
  /// number. Training changes them, so that sizes and branches must not depend on them.
  virtual std::optional<ShapeElements> elements_by_weights(Environment& environment,
                                                           std::string_view name) = 0;
  /// Imports a graph inside a node, which sees the names of `outer`. Returns its outputs.
  virtual std::vector<ir::Value> run_graph(const GraphProto& graph,
                                           const std::vector<ir::Value>& inputs, Environment& outer,
                                           std::int64_t opset) = 0;
  /// A constant of a tensor of the file.
  virtual ir::Value constant(const TensorProto& tensor) = 0;
  virtual ShapeValues& shape_values() = 0;
};

}  // namespace kiln::onnx
