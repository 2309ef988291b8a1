// kiln functions: the documentation of the K functions, from the public headers.
#pragma once

#include <iosfwd>
#include <string>

namespace kiln::tool {

/// Prints declarations, docstring, example, the types of the arguments and the opening comment of
/// the header of a function, type or operator. `asked`: Keras' name, too, where C++ needs another
/// one (switch), an operator with or without "operator", and a member as "Class::member". Throws
/// ValueError for an unknown name.
void print_function(std::ostream& out, const std::string& asked);
/// Prints every function with its first sentence, header by header.
void print_functions(std::ostream& out);
/// Prints a line for each function, by name: name, header, first sentence.
void print_function_table(std::ostream& out);

}  // namespace kiln::tool
