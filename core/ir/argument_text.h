// The names that the user gave to the arguments of a program.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <string_view>

namespace kiln::ir {

/// The name of a placeholder or variable; "" without one, and for other nodes. Valid as long as the
/// node.
std::string_view given_name(const Node& node);
/// "input x" or "variable dense/kernel"; "" without a name.
std::string argument_text(const Node& node);

}  // namespace kiln::ir
