// Where a node comes from, for people: names of kernels, dumps, errors.
#pragma once

#include "core/ir/node.h"

#include <string>

namespace kiln::codegen {

/// "tanh at model.cpp:12": the K function and the user's line; the op's name where they are not
/// known.
std::string source_of(const ir::Node& node);

}  // namespace kiln::codegen
