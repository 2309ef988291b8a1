// Writes the examples of the docstrings as a Catch2 source: write_examples FILE. A statement that
// ends in `;  // text` is an expression whose value must print as that text; all others are copied.
#include "tools/functions/docs.h"

#include <fstream>
#include <iostream>

namespace {

using kiln::tool::ClassDoc;
using kiln::tool::FunctionDoc;
using kiln::tool::HeaderDoc;

/// A statement with the text that its value prints as; no text for other statements.
void write_statement(std::ostream& out, const std::string& statement) {
  const std::size_t comment = statement.rfind(";  // ");
  if (comment == std::string::npos) {
    out << "  " << statement << "\n";
    return;
  }
  out << "  CHECK(kiln::testing::shown(" << statement.substr(0, comment) << ") ==\n        R\"text("
      << statement.substr(comment + 6) << ")text\");\n";
}

bool ends_statement(const std::string& line) {
  return line.find(";  // ") != std::string::npos || line.back() == ';' || line.back() == '}';
}

void write_example(std::ostream& out, const HeaderDoc& header, const FunctionDoc& doc) {
  out << "\nTEST_CASE(\"example of " << doc.names[0] << ", " << header.name << ":"
      << doc.example_line << "\", \"[functions]\") {\n"
      << "  const kiln::testing::DefaultSettings settings;\n";
  std::string statement;
  for (const std::string& line : doc.example) {
    statement += (statement.empty() ? "" : "\n  ") + line;
    if (!ends_statement(line)) continue;
    write_statement(out, statement);
    statement.clear();
  }
  out << statement << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_examples FILE\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  out << "// The examples of the public headers. Written by the build.\n"
      << "#include \"tests/k/functions/example.h\"\n\nnamespace K = kiln;\n";
  for (const HeaderDoc& header : kiln::tool::read_headers()) {
    for (const FunctionDoc& doc : header.functions) {
      if (!doc.example.empty()) write_example(out, header, doc);
    }
    for (const ClassDoc& of_class : header.classes) {
      if (!of_class.doc.example.empty()) write_example(out, header, of_class.doc);
    }
  }
  out.close();
  return out ? 0 : 1;
}
