// The source of a node, for names of kernels, dumps and errors.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// "tanh at model.cpp:12": the K function and the user's line. Without a function, the op's name;
/// without a line, the name alone.
std::string source_of(const ir::Node& node);

/// A kernel's name, from the K functions and lines of its first few nodes. `name` is an identifier,
/// unique by `number`, which assembly and profilers show; `comes_from` has the files and lines.
struct KernelTitle {
  std::string name, comes_from;
};
KernelTitle kernel_title(const std::vector<const ir::Node*>& nodes, int number);

}  // namespace kiln::codegen
