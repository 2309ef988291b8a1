// The names that nodes of an ONNX graph can use: values of nodes, inputs, and initializers, which
// become constants or variables when a node first uses them.
#pragma once

#include "core/ir/node.h"
#include "core/onnx/file/model.h"

#include <string_view>
#include <unordered_map>

namespace kiln::onnx {

/// The binding of a name: a value, or a tensor of the file.
struct Binding {
  ir::Value value;  // empty for a tensor that no node has used yet under this name
  const TensorProto* tensor = nullptr;  // of an initializer or a Constant node
  bool is_initializer = false;
  std::string_view tensor_name = {};  // functions know the tensor by other names
  /// TensorProto::source of the tensor, and of the one whose elements the value has in another
  /// dtype or shape; null for other values.
  const void* source = nullptr;
};

class Environment {
 public:
  /// `outer`: the environment of the graph around it, whose names it sees; null for none.
  explicit Environment(Environment* outer) : outer_(outer) {}

  /// Binds a name. Returns false if this graph binds it already.
  bool bind(std::string_view name, Binding binding) {
    return bindings_.emplace(name, std::move(binding)).second;
  }
  /// The innermost binding; null if there is none.
  Binding* find(std::string_view name) {
    for (Environment* scope = this; scope != nullptr; scope = scope->outer_) {
      const auto found = scope->bindings_.find(name);
      if (found != scope->bindings_.end()) return &found->second;
    }
    return nullptr;
  }

 private:
  Environment* outer_;
  std::unordered_map<std::string_view, Binding> bindings_;
};

}  // namespace kiln::onnx
