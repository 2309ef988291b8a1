// kiln functions: what the public headers say of a K function.
#pragma once

#include <iosfwd>
#include <string>

namespace kiln::tool {

/// Declarations, docstring, example, the types of the arguments and the note of the whole header.
/// Keras' name of switch_ will do, too. Throws ValueError for an unknown name.
void print_function(std::ostream& out, const std::string& asked);
/// Every function with its first sentence, by headers.
void print_functions(std::ostream& out);

}  // namespace kiln::tool
