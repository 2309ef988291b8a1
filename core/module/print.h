// The text form of a module, `.kir`: one line a value, in topological order, numbered from %0.
#pragma once

#include "core/module/module.h"

namespace kiln::module {

/// Depends on the module's structure alone. Large constants are printed whole.
std::string print_module(const Module& module);

}  // namespace kiln::module
