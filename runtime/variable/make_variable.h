// Creates variables whose names are already complete.
#pragma once

#include <kiln/array.h>
#include <kiln/constraint.h>

#include <string>

namespace kiln {

class Variable;  // kiln/variable.h

namespace runtime {

/// Returns a new variable of exactly this name, also within name scopes. Throws OutOfMemory.
Variable make_variable(Array value, const std::string& full_name, Constraint constraint = {});

}  // namespace runtime
}  // namespace kiln
