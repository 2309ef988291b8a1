// Renames symbolic dims for the messages of one function. By default the dims of every unnamed
// placeholder print as x.0, x.1, .., and placeholders may share a name.
#pragma once

#include "core/ir/node.h"
#include "core/ir/symbol_names.h"

namespace kiln::ir {

/// Names the symbols of unnamed inputs, and those whose name an earlier input has, after their
/// position: "input_1.0" is axis 0 of inputs[1].
SymbolNames input_names(const std::vector<Value>& inputs);

}  // namespace kiln::ir
