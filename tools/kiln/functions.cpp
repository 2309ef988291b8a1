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

/// The name as it is written after K::, for instance "optimizers::Adam".
std::string qualified(const FunctionDoc& doc, const std::string& name) {
  return doc.space.empty() ? name : doc.space + "::" + name;
}

/// The names that print_function() knows.
std::vector<std::string> all_names(const std::vector<HeaderDoc>& headers) {
  std::vector<std::string> names;
  for (const HeaderDoc& header : headers) {
    for (const auto* docs : {&header.functions, &header.operators}) {
      for (const FunctionDoc& doc : *docs) {
        names.insert(names.end(), doc.names.begin(), doc.names.end());
      }
    }
    for (const ClassDoc& of_class : header.classes) names.push_back(of_class.doc.names[0]);
    for (const auto* texts : {&header.types, &header.constants}) {
      for (const auto& [name, text] : *texts) names.push_back(name);
    }
  }
  return names;
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
  out << "\n" << doc.declarations;
  if (!doc.text.empty()) out << "\n" << doc.text << "\n";
  if (doc.example.empty()) return;
  out << "\n";
  for (const std::string& line : doc.example) out << "    " << line << "\n";
}

void print_intro(std::ostream& out, const HeaderDoc& header) {
  out << "\nOf everything in <" << header.name << ">:\n\n";
  print_indented(out, header.intro);
}

/// Prints the class of that name with its members, and the members of that name of other classes.
/// Returns their declarations, empty if there are none.
std::string print_classes(std::ostream& out, const std::vector<HeaderDoc>& headers,
                          const std::string& name) {
  std::string declarations;
  for (const HeaderDoc& header : headers) {
    for (const ClassDoc& of_class : header.classes) {
      const FunctionDoc& doc = of_class.doc;
      const bool is_class = doc.names[0] == name;
      if (is_class) {
        out << qualified(doc, name) << ", a class in <" << header.name << ">\n";
        print_doc(out, doc);
        declarations += doc.declarations;
      }
      for (const FunctionDoc& member : of_class.members) {
        if (!is_class && !declares(member, name)) continue;
        if (!is_class) {
          out << qualified(doc, doc.names[0]) << "::" << name << ", in <" << header.name << ">\n";
        }
        print_doc(out, member);
        declarations += member.declarations;
      }
      if (is_class) print_intro(out, header);
    }
  }
  return declarations;
}

/// Prints the functions or operators of that name. Returns their declarations.
std::string print_functions_of(std::ostream& out, const std::vector<HeaderDoc>& headers,
                               std::vector<FunctionDoc> HeaderDoc::* docs,
                               const std::string& name) {
  std::string declarations;
  for (const HeaderDoc& header : headers) {
    bool found = false;
    for (const FunctionDoc& doc : header.*docs) {
      if (!declares(doc, name)) continue;
      if (!found) out << qualified(doc, name) << ", in <" << header.name << ">\n";
      found = true;
      print_doc(out, doc);
      declarations += doc.declarations;
    }
    if (found) print_intro(out, header);
  }
  return declarations;
}

/// Prints the struct, enumeration, alias, constant or class without a docstring of that name.
/// Returns its declaration.
std::string print_type(std::ostream& out, const std::vector<HeaderDoc>& headers,
                       const std::string& name) {
  for (const HeaderDoc& header : headers) {
    for (const auto* texts : {&header.types, &header.constants}) {
      const auto found = texts->find(name);
      if (found == texts->end()) continue;
      out << name << (texts == &header.types ? ", a type in <" : ", a constant in <") << header.name
          << ">\n\n"
          << found->second << "\n";
      print_intro(out, header);
      return found->second;
    }
  }
  return "";
}

/// Prints the member of a class, or the struct or enumeration that has it. Returns its declaration,
/// empty if there is none.
std::string print_member(std::ostream& out, const std::vector<HeaderDoc>& headers,
                         const std::string& owner, const std::string& member) {
  std::string declarations;
  for (const HeaderDoc& header : headers) {
    for (const ClassDoc& of_class : header.classes) {
      if (of_class.doc.names[0] != owner) continue;
      for (const FunctionDoc& doc : of_class.members) {
        if (!declares(doc, member)) continue;
        if (declarations.empty()) {
          out << qualified(of_class.doc, owner) << "::" << member << ", in <" << header.name
              << ">\n";
        }
        print_doc(out, doc);
        declarations += doc.declarations;
      }
    }
    const auto type = header.types.find(owner);
    const bool is_field = declarations.empty() && type != header.types.end() &&
                          words_of(type->second).count(member) != 0;
    if (is_field) return print_type(out, headers, owner);
  }
  return declarations;
}

/// Prints all that is declared by that name. Returns the declarations, empty if there are none.
std::string print_named(std::ostream& out, const std::vector<HeaderDoc>& headers,
                        const std::string& name) {
  std::string declarations = print_functions_of(out, headers, &HeaderDoc::functions, name);
  declarations += print_functions_of(out, headers, &HeaderDoc::operators, name);
  const bool is_operator = name.rfind("operator", 0) == 0;  // classes may have the same one
  if (declarations.empty() || is_operator) declarations += print_classes(out, headers, name);
  return declarations.empty() ? print_type(out, headers, name) : declarations;
}

/// The name without namespaces and class. Names of operators have no such parts.
std::string last_part(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

/// The class or namespace before the last part: "Array" for "K::Array::reshape"; empty for none.
std::string owner_of(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? "" : last_part(name.substr(0, colons));
}

/// The name by which the headers declare what is asked for: "operator+" for "+", "switch_" for the
/// keyword "switch".
std::string declared_name(const std::vector<HeaderDoc>& headers, const std::string& given) {
  const std::string asked = last_part(given);
  const bool is_symbol = !asked.empty() && asked.find_first_not_of("+-*/<>=!&|[]()") == asked.npos;
  if (is_symbol) return "operator" + asked;
  if (!declared(headers, asked) && declared(headers, asked + "_")) return asked + "_";
  return asked;
}

}  // namespace

void print_function(std::ostream& out, const std::string& asked) {
  const std::vector<HeaderDoc> headers = read_headers();
  const std::string name = declared_name(headers, asked);
  std::string declarations = print_member(out, headers, owner_of(asked), name);
  if (declarations.empty()) declarations = print_named(out, headers, name);
  if (declarations.empty()) {
    throw ValueError("kiln functions", "NAME",
                     text("unknown function, type or operator '", name, "'",
                          did_you_mean(name, all_names(headers))));
  }
  std::set<std::string> printed{"Tensor", "Operand", name};  // most functions take the first two
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
    if (header.functions.empty() && header.classes.empty()) continue;
    out << "<" << header.name << ">\n";
    for (const ClassDoc& of_class : header.classes) {
      out << "  " << std::left << std::setw(kNameWidth) << "class " + of_class.doc.names[0] << " "
          << first_sentence(of_class.doc.text) << "\n";
    }
    for (const auto* docs : {&header.functions, &header.operators}) {
      for (const FunctionDoc& doc : *docs) {
        out << "  " << std::left << std::setw(kNameWidth) << join_text(doc.names) << " "
            << first_sentence(doc.text) << "\n";
      }
    }
  }
}

}  // namespace kiln::tool
