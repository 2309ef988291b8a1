// NodeContext: what an import function gets of its node: operands, attributes, values known while
// importing, and the graphs inside the node.
#pragma once

#include "core/ir/node.h"
#include "core/k/base/tensor_impl.h"
#include "core/k/shape/shape_values.h"
#include "core/onnx/file/model.h"
#include "core/onnx/import/graph_importer.h"

#include <optional>
#include <string>
#include <vector>

namespace kiln::onnx {

class NodeContext {
 public:
  NodeContext(GraphImporter& importer, Environment& environment, const NodeProto& node,
              std::int64_t opset)
      : importer_(importer), environment_(environment), node_(node), opset_(opset) {}

  const NodeProto& node() const { return node_; }
  /// The version of the default domain that the node is written in.
  std::int64_t opset() const { return opset_; }

  // Operands.
  std::size_t input_count() const { return node_.input.size(); }
  /// Whether output 0 has the elements of input 0 in another dtype or shape.
  bool passes_on() const;
  std::size_t output_count() const { return node_.output.size(); }
  /// Whether input i is given; optional inputs may be left out.
  bool has(std::size_t i) const { return i < node_.input.size() && !node_.input[i].empty(); }
  /// Whether the node names output i, which may be used.
  bool uses(std::size_t i) const { return i < node_.output.size() && !node_.output[i].empty(); }
  /// Input i. Throws ValueError if it is left out.
  ir::Value input(std::size_t i);
  /// Input i as a tensor, for K functions.
  Tensor tensor(std::size_t i) { return wrap(input(i)); }
  std::vector<ir::Value> inputs();  // all of a variadic op
  /// Input i, which is no weight: a variable that all nodes use so is not trained.
  ir::Value untrained_input(std::size_t i);

  // Attributes. Functions with a default return it where the node has none; the others throw
  // ValueError. All throw for an attribute of another type.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  /// An integer of at least 1.
  std::int64_t positive(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  std::optional<ir::Ints> integers(std::string_view name) const;
  std::vector<float> numbers(std::string_view name) const;  // empty if absent
  std::vector<std::string> strings(std::string_view name) const;  // empty if absent
  const TensorProto& tensor_attribute(std::string_view name) const;
  const GraphProto& graph(std::string_view name) const;

  // Values that are known while importing.
  /// The elements of input i; nullopt if it is large or has unknown sizes.
  std::optional<ShapeElements> elements(std::size_t i);
  /// The elements of the integer or bool input i as dims; nullopt if one depends on data.
  std::optional<ir::Dims> dims(std::size_t i);
  /// The elements of input i. Throws ValueError, which calls it `name`, unless all are known
  /// numbers.
  ir::Ints known_integers(std::size_t i, const char* name);
  std::vector<double> known_numbers(std::size_t i, const char* name);
  /// The attribute, or else input i, which had to be an attribute in earlier opsets; nullopt if
  /// neither is given.
  std::optional<ir::Ints> attribute_or_input(const char* name, std::size_t i);
  /// Whether a value known while importing is true; Unknown if it depends on data or sizes.
  ir::Ternary truth(const ir::Value& scalar);
  ShapeValues& shape_values();

  // Graphs.
  /// Imports a graph of the node, whose inputs become `inputs`, in the names of this node's graph.
  std::vector<ir::Value> run_graph(const GraphProto& graph, const std::vector<ir::Value>& inputs);
  /// A constant of a tensor of the file.
  ir::Value constant(const TensorProto& tensor);
  /// Binds output 0 to a tensor of the file: a Constant node, which may become a variable.
  void bind_constant(const TensorProto& tensor);

  /// A non-negative axis of a tensor of this rank. Throws ValueError, which names the attribute.
  int axis(std::int64_t axis, int rank, const char* name = "axis") const;
  /// The same for a list: ascending, without repetitions.
  ir::Ints axes(const ir::Ints& axes, int rank, const char* name = "axes") const;
  [[noreturn]] void fail(const std::string& message) const;

 private:
  ShapeElements known_elements(std::size_t i, const char* name);
  const AttributeProto* find(std::string_view name) const;
  const AttributeProto* find(std::string_view name, AttributeType type) const;

  GraphImporter& importer_;
  Environment& environment_;
  const NodeProto& node_;
  std::int64_t opset_;
};

}  // namespace kiln::onnx
