// The source of a node, for names of kernels, dumps and errors.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// "tanh at model.cpp:12 in encoder/layer_2": the K function, the user's line and the name scope.
/// Without a function, the op's name; of a variable or placeholder, its kind and name.
std::string source_of(const ir::Node& node);
/// "variable dense/kernel" or "input x"; "argument 3" without a name, and in bodies. `node`: has
/// the argument's value; null if it is not known.
std::string name_of_argument(const ir::Node* node, int number);

/// A kernel's name, from the innermost name scope of its first node, and the K functions and lines
/// of its first few. `name` is an identifier, unique by `number`, which assembly and profilers
/// show; `comes_from` has the files, lines and scopes, as many as fit in a row.
struct KernelTitle {
  std::string name, comes_from;
};
KernelTitle kernel_title(const std::vector<const ir::Node*>& nodes, int number);

}  // namespace kiln::codegen
