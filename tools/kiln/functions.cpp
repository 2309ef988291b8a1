// All texts come from tools/functions/docs.h.
#include "tools/kiln/functions.h"

#include "core/types/nearest.h"
#include "core/types/text.h"
#include "tools/functions/docs.h"

#include <kiln/error.h>

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

namespace kiln::tool {
namespace {

constexpr int kNameWidth = 31, kHeaderWidth = 20;

/// Returns the first sentence as one line. Full stops within parentheses, and those after another
/// one ("x[0] + ... + x[i]"), do not end it. The parenthesis of a half-open interval, [a, b), has
/// no opening one.
std::string first_sentence(const std::string& text) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '(') ++depth;
    if (line[i] == ')' && depth > 0) --depth;
    const bool ends = line[i] == '.' && depth == 0 && i > 0 && line[i - 1] != '.';
    if (ends && (i + 1 == line.size() || line[i + 1] == ' ')) return line.substr(0, i + 1);
  }
  return line;
}

bool declares(const FunctionDoc& doc, const std::string& name) {
  return std::find(doc.names.begin(), doc.names.end(), name) != doc.names.end();
}

bool declared(const std::vector<HeaderDoc>& headers, const std::string& name) {
  return std::any_of(headers.begin(), headers.end(), [&](const HeaderDoc& header) {
    return std::any_of(header.functions.begin(), header.functions.end(),
                       [&](const FunctionDoc& doc) { return declares(doc, name); });
  });
}

/// The words of C++ text, as names are.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(word);
      word.clear();
    }
  }
  return words;
}

/// Prints the types that `text` names, after the types that they name themselves.
void print_types(std::ostream& out, const std::vector<HeaderDoc>& headers, const std::string& text,
                 std::set<std::string>& printed) {
  for (const std::string& word : words_of(text)) {
    for (const HeaderDoc& header : headers) {
      const auto type = header.types.find(word);
      if (type == header.types.end() || !printed.insert(word).second) continue;
      print_types(out, headers, type->second, printed);
      out << "\n" << type->second << "\n";
    }
  }
}

void print_indented(std::ostream& out, const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out << "    " << line << "\n";
}

void print_doc(std::ostream& out, const FunctionDoc& doc) {
  out << "\n" << doc.declarations << "\n" << doc.text << "\n";
  if (doc.example.empty()) return;
  out << "\n";
  for (const std::string& line : doc.example) out << "    " << line << "\n";
}

}  // namespace

void print_function(std::ostream& out, const std::string& asked) {
  const std::vector<HeaderDoc> headers = read_headers();
  // A C++ keyword has an underscore appended: switch_.
  const bool is_keyword = !declared(headers, asked) && declared(headers, asked + "_");
  const std::string name = is_keyword ? asked + "_" : asked;
  std::string declarations;
  for (const HeaderDoc& header : headers) {
    bool found = false;
    for (const FunctionDoc& doc : header.functions) {
      if (!declares(doc, name)) continue;
      if (!found) out << name << ", in <" << header.name << ">\n";
      found = true;
      print_doc(out, doc);
      declarations += doc.declarations;
    }
    if (!found) continue;
    out << "\nOf everything in <" << header.name << ">:\n\n";
    print_indented(out, header.intro);
  }
  if (declarations.empty()) {
    std::vector<std::string> names;
    for (const HeaderDoc& header : headers) {
      for (const FunctionDoc& doc : header.functions) {
        names.insert(names.end(), doc.names.begin(), doc.names.end());
      }
    }
    throw ValueError("kiln functions", "NAME",
                     text("unknown function '", name, "'", did_you_mean(name, names)));
  }
  std::set<std::string> printed{"Tensor", "Operand"};  // nearly every function takes them
  print_types(out, headers, declarations, printed);
}

void print_function_table(std::ostream& out) {
  struct Row {
    std::string header, summary;
  };
  std::map<std::string, Row> rows;  // of overloads the first one
  for (const HeaderDoc& header : read_headers()) {
    for (const FunctionDoc& doc : header.functions) {
      for (const std::string& name : doc.names) {
        rows.try_emplace(name, Row{header.name, first_sentence(doc.text)});
      }
    }
  }
  for (const auto& [name, row] : rows) {
    out << std::left << std::setw(kNameWidth) << name << " " << std::setw(kHeaderWidth)
        << row.header << " " << row.summary << "\n";
  }
  out << rows.size() << " functions\n";
}

void print_functions(std::ostream& out) {
  for (const HeaderDoc& header : read_headers()) {
    if (header.functions.empty()) continue;
    out << "<" << header.name << ">\n";
    for (const FunctionDoc& doc : header.functions) {
      out << "  " << std::left << std::setw(kNameWidth) << join_text(doc.names) << " "
          << first_sentence(doc.text) << "\n";
    }
  }
}

}  // namespace kiln::tool
