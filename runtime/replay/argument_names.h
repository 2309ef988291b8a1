// The names of a module's inputs and variables in files of values.
#pragma once

#include "core/module/module.h"

#include <string>
#include <vector>

namespace kiln::runtime {

/// Makes names distinct: one that equals an earlier one gets a suffix, "x~2", "x~3".
std::vector<std::string> distinct_names(std::vector<std::string> names);

/// Returns distinct names of the inputs, then of the variables: their own, or "input_1" and
/// "variable_0" by position if they have none.
std::vector<std::string> argument_names(const std::vector<ir::Value>& inputs,
                                        const std::vector<module::StateEntry>& state);

}  // namespace kiln::runtime
