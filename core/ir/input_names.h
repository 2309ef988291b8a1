// Names of unknown sizes in the messages of one function: symbols of unnamed placeholders all print
// as x.0, x.1, ..., and so do those of placeholders with equal names.
#pragma once

#include "core/ir/node.h"
#include "core/ir/symbol_names.h"

namespace kiln::ir {

/// Names for the symbols of unnamed inputs, and for those whose name an earlier input has:
/// "input_1.0" is axis 0 of inputs[1].
SymbolNames input_names(const std::vector<Value>& inputs);

}  // namespace kiln::ir
