// kiln ops: documentation of the ops, from their definitions.
#pragma once

#include <iosfwd>
#include <string>

namespace kiln::tool {

/// Prints one op: operands, description, the fields of its attributes in the order of the module
/// format, its code there, class, dtypes, gradient. Throws ValueError for an unknown name.
void print_op(std::ostream& out, const std::string& name);
/// Prints a line for each op with its description, then one for each with its gradient.
void print_ops(std::ostream& out);

}  // namespace kiln::tool
