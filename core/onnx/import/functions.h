// Local functions of a model, and the opsets of its domains.
#pragma once

#include "core/onnx/file/model.h"

#include <array>
#include <map>
#include <string_view>

namespace kiln::onnx {

/// The functions of a model by domain, name and overload.
class FunctionTable {
 public:
  explicit FunctionTable(const ModelProto& model);
  /// The function that a node calls; null for an operator.
  const FunctionProto* find(const NodeProto& node) const;

 private:
  using Key = std::array<std::string_view, 3>;
  std::map<Key, const FunctionProto*> functions_;
};

/// The version of a domain; 0 if `sets` does not have it.
std::int64_t opset_of(const std::vector<OperatorSet>& sets, std::string_view domain);
/// The nodes of a function with its references to attributes of the call replaced by those of
/// `call`, or by the function's defaults; references without either are left out, and so are
/// operands that are inputs of the function which `call` leaves out.
std::vector<NodeProto> function_nodes(const FunctionProto& function, const NodeProto& call);

}  // namespace kiln::onnx
