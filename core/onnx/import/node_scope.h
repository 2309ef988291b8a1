// NodeScope: nodes and errors that are made during it carry the operator and the name of an ONNX
// node.
#pragma once

#include "core/ir/origin.h"

#include <string_view>

namespace kiln::onnx {

/// Replaces the origin of this thread: `function` (static storage; null: as before), and the name
/// scopes of `name`, which is split at '/', inside the current one. The line stays the user's.
class NodeScope {
 public:
  NodeScope(const char* function, std::string_view name);
  ~NodeScope() { ir::exchange_current_origin(saved_); }
  NodeScope(const NodeScope&) = delete;
  NodeScope& operator=(const NodeScope&) = delete;

 private:
  ir::Origin saved_;
};

}  // namespace kiln::onnx
