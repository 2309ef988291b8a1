// The documentation of the K functions, read from the public headers, which the build embeds: a
// docstring with the declarations right below it. Lines of a docstring that are indented by four
// more blanks are its example.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kiln::tool {

struct HeaderText {
  std::string name;  // "kiln/reduce.h"
  std::string text;
};
/// The public headers, sorted by name. The build writes the body.
std::vector<HeaderText> header_texts();

/// A docstring with the declarations below it, up to a blank line or the next docstring.
struct FunctionDoc {
  std::string space;               // "optimizers" in namespace kiln::optimizers; empty in kiln
  std::vector<std::string> names;  // of the functions; overloads once; operators as "operator+"
  std::string declarations;        // without KILN_API and the Where argument
  std::string text;
  std::vector<std::string> example;
  unsigned example_line = 0;  // of the header; 0 without an example
};

/// A class with a docstring.
struct ClassDoc {
  FunctionDoc doc;  // its name and docstring
  /// Public functions, also those without a docstring; constructors are named as the class, call
  /// operators operator(). Without inline bodies.
  std::vector<FunctionDoc> members;
};

struct HeaderDoc {
  std::string name;
  std::string intro;  // the comment at the top
  std::vector<FunctionDoc> functions;
  std::vector<FunctionDoc>
      operators;  // with the texts of the functions that they are declared with
  std::vector<ClassDoc> classes;
  /// Structs, enumerations and aliases by name, with their docstrings; of classes the docstring
  /// alone.
  std::map<std::string, std::string> types;
  std::map<std::string, std::string> constants;  // by name, such as None
};

/// Parses one header.
HeaderDoc read_header(const HeaderText& header);
/// Parses all headers that declare functions or types.
std::vector<HeaderDoc> read_headers();

}  // namespace kiln::tool
