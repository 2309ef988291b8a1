// Where a node comes from, for people: names of kernels, dumps, errors.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// "tanh at model.cpp:12": the K function and the user's line; the op's name where they are not
/// known.
std::string source_of(const ir::Node& node);

/// What a kernel is called: the K functions and lines of the first few nodes. `name` is an
/// identifier, unique by `number`, which assembly and profilers show; `comes_from` has the files.
struct KernelTitle {
  std::string name, comes_from;
};
KernelTitle kernel_title(const std::vector<const ir::Node*>& nodes, int number);

}  // namespace kiln::codegen
