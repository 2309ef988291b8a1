// Compiles modules as functions.
#pragma once

#include "core/module/module.h"

#include <kiln/module.h>

#include <string>
#include <vector>

namespace kiln::runtime {

/// Returns argument_names() of the module's state.
std::vector<std::string> variable_names(const module::Module& module);

/// Compiles a module whose state entries are these variables, one each, which have their types.
/// Uses all options but `updates` and `outputs_after_updates`. REQUIRES: as for compile_function.
/// Throws as `function` of kiln/function.h.
Function compile_module(const module::Module& module, const std::vector<Variable>& variables,
                        const FunctionOptions& options, Where where);

}  // namespace kiln::runtime
