// kiln ops --codes and --header: the ops as the module format numbers them.
#pragma once

#include <iosfwd>

namespace kiln::tool {

/// Prints each list of attribute fields with the ops that have it and their codes, as in the page
/// module_format.
void print_op_codes(std::ostream& out);
/// Prints backends/abi/kiln_module_ops.h.
void print_op_header(std::ostream& out);

}  // namespace kiln::tool
