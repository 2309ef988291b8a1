// The nodes that a target's libraries take. Each answer follows from the node alone.
#pragma once

#include "core/ir/node.h"

#include <optional>
#include <string>

namespace kiln::codegen {

/// Asked while a graph is lowered; what is claimed is a step of its own, all else becomes kernels.
class LibraryClaims {
 public:
  virtual ~LibraryClaims() = default;
  /// Why this Dot does not go to the library; empty when it does.
  virtual std::optional<std::string> refusal(const ir::Node& dot) const = 0;
  /// Why this activation of a result (tanh, sigmoid) is not done on the way.
  virtual std::string refusal_of_activation(ir::Op) const {
    return "the library has no activations";
  }
  /// Why this Conv does not go to the library; empty when it does.
  virtual std::optional<std::string> refusal_of_convolution(const ir::Node&) const {
    return "the library has no convolutions";
  }
};

}  // namespace kiln::codegen
