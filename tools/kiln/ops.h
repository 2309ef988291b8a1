// kiln ops: the op table as documentation.
#pragma once

#include <iosfwd>
#include <string>

namespace kiln::tool {

/// One op with everything its definition says. Throws ValueError for an unknown name.
void print_op(std::ostream& out, const std::string& name);
/// Every op with its sentence, then the gradients, one line an op.
void print_ops(std::ostream& out);

}  // namespace kiln::tool
