// Importer: the state of one import, and the walk over nodes. Import functions see it through
// NodeContext.
#pragma once

#include "core/k/shape/shape_values.h"
#include "core/onnx/import/environment.h"
#include "core/onnx/import/functions.h"
#include "core/onnx/import/graph_importer.h"
#include "core/onnx/import/import.h"

#include <string>
#include <unordered_set>

namespace kiln::onnx {

class Importer final : public GraphImporter {
 public:
  Importer(const ModelProto& model, const ImportOptions& options, const ImportServices& services)
      : model_(model),
        functions_(model),
        options_(options),
        tensors_(model.graph, options, services) {}

  ImportedModel run();

  ir::Value value_of(Environment& environment, std::string_view name, OperandUse use) override;
  std::optional<ShapeElements> elements_of(Environment& environment,
                                           std::string_view name) override;
  std::optional<ShapeElements> elements_by_weights(Environment& environment,
                                                   std::string_view name) override;
  std::vector<ir::Value> run_graph(const GraphProto& graph, const std::vector<ir::Value>& inputs,
                                   Environment& outer, std::int64_t opset) override;
  ir::Value constant(const TensorProto& tensor) override { return tensors_.constant(tensor); }
  ShapeValues& shape_values() override { return shape_values_; }

 private:
  /// `used`: the names that nodes use. Inputs without a use may be of any type, and are left out.
  void bind_inputs(const std::unordered_set<std::string_view>& used, Environment& environment,
                   ImportedModel& result);
  /// The reason why an input cannot be a placeholder; empty if it can.
  static std::string input_rejection(const ValueInfo& info);
  ir::Value placeholder_of(const ValueInfo& info);
  /// Lets the given value of the input, if there is one of its type, decide shapes and branches.
  void assume_given(const NamedValue& input);
  /// Lets elements_by_weights() know the elements of a vector that became a variable.
  void assume_small(const Binding& binding);
  void bind_initializers(const GraphProto& graph, Environment& environment);
  /// The binding of a name. Throws MalformedModel if no node before has made it.
  static Binding& binding_of(Environment& environment, std::string_view name);
  void run_nodes(const std::vector<NodeProto>& nodes, Environment& environment, std::int64_t opset);
  void run_node(const NodeProto& node, Environment& environment, std::int64_t opset);
  void run_function(const FunctionProto& function, const NodeProto& node, Environment& environment);

  const ModelProto& model_;
  const FunctionTable functions_;
  const ImportOptions& options_;
  TensorValues tensors_;
  ShapeValues shape_values_, weight_values_;
  std::map<std::string, ir::Dim, std::less<>> named_dims_;
  int function_depth_ = 0;
  std::int64_t nodes_run_ = 0;  // a node of a function or a loop counts in every call or step
};

}  // namespace kiln::onnx
