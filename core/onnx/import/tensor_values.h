// TensorValues: the constants and variables of an import. One tensor of the file is one of them,
// however many calls of functions, steps of loops and branches import the graph around it.
#pragma once

#include "core/onnx/import/environment.h"
#include "core/onnx/import/import.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln::onnx {

/// How a node uses an operand: as a weight, as a statistic such as a running mean, or to pass its
/// elements on, so that the users of the result decide.
enum class OperandUse { Weight, Statistic, PassedOn };

class TensorValues {
 public:
  /// The graph is that of the model: its initializers keep their names and their order.
  TensorValues(const GraphProto& graph, const ImportOptions& options,
               const ImportServices& services);

  /// The variable or constant of a binding to a tensor.
  ir::Value value_of(const Binding& binding);
  /// A new constant of a tensor.
  ir::Value constant(const TensorProto& tensor);
  /// Records a use of the tensor with this source.
  void record_use(const void* source, OperandUse use);
  /// Adds the variables to `result`, initializers of the model's graph first. A variable is trained
  /// unless nodes use it as a statistic only.
  void list_variables(ImportedModel& result) const;

 private:
  struct Variable {
    std::size_t order;
    NamedValue named;
    bool is_weight = false, is_statistic = false;
  };

  bool is_variable(const Binding& binding) const;
  ir::Value variable(const Binding& binding);
  std::string distinct_name(std::string_view name);
  std::span<const std::byte> bytes_of(const TensorProto& tensor);

  const ImportOptions& options_;
  const ImportServices& services_;
  std::unordered_map<const void*, std::size_t> orders_;  // of initializers of the model's graph
  std::unordered_map<const void*, ir::Value> values_;
  std::unordered_map<const void*, std::size_t> numbers_;  // in variables_
  std::vector<Variable> variables_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::size_t> suffixes_;  // the last one of a name
};

}  // namespace kiln::onnx
