// Parses line by line: in the project's style, the beginning of a line tells docstrings and
// declarations.
#include "tools/functions/docs.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

namespace kiln::tool {
namespace {

bool starts_with(const std::string& line, const std::string& prefix) {
  return line.rfind(prefix, 0) == 0;
}

/// The mark with which the declaration of an exported function begins; empty for other lines.
std::string mark_of(const std::string& line) {
  for (const char* mark : {"KILN_API ", "[[nodiscard]] KILN_API "}) {
    if (starts_with(line, mark)) return mark;
  }
  return "";
}

/// A line without the attributes of a class or struct.
std::string without_attributes(const std::string& line) {
  static const std::regex attributes("^(class|struct) \\[\\[.*\\]\\] ");
  return std::regex_replace(line, attributes, "$1 ");
}

/// Whether the line, up to a comment, ends in a semicolon.
bool ends_declaration(const std::string& line) {
  const std::string code = line.substr(0, line.find("  //"));
  return !code.empty() && code.back() == ';';
}

/// Whether the line is one of a docstring after `indent` blanks.
bool is_doc(const std::string& line, std::size_t indent = 0) {
  return starts_with(line, std::string(indent, ' ') + "///");
}

/// The namespace below kiln that a line opens: "optimizers" for kiln::optimizers, empty for kiln.
/// No value for other lines.
std::optional<std::string> opened_namespace(const std::string& line) {
  static const std::regex opening("^namespace kiln(::(.*))? \\{$");
  std::smatch match;
  if (!std::regex_match(line, match, opening)) return std::nullopt;
  return match[2].str();
}

/// Removes the mark from a declaration, and as many blanks from its other lines.
std::string unmarked(const std::string& declaration) {
  const std::size_t size = mark_of(declaration).size();
  std::string text = declaration.substr(size);
  const std::string margin = "\n" + std::string(size, ' ');
  for (std::size_t at = text.find(margin); at != std::string::npos; at = text.find(margin, at)) {
    text.erase(++at, size);
  }
  return text;
}

/// Whether the line begins a member function, as far as a line tells: member_declaration() decides.
bool begins_member(const std::string& line) {
  const bool is_at_margin = line.size() > 2 && starts_with(line, "  ");
  if (!is_at_margin || std::string(" /}~#").find(line[2]) != std::string::npos) return false;
  for (const char* other : {"  friend ", "  template", "  using ", "  static_assert("}) {
    if (starts_with(line, other)) return false;
  }
  return line.find('(') != std::string::npos;
}

/// The name of a constant, "None" for "inline constexpr NoneType None{0};"; empty for other lines,
/// and for a trait, whose name ends in _v.
std::string constant_in(const std::string& line) {
  static const std::regex constant("^inline constexpr .* (\\w+)( = |\\{).*;$");
  std::smatch match;
  const bool is_constant = std::regex_match(line, match, constant);
  return is_constant && !match[1].str().ends_with("_v") ? match[1].str() : "";
}

/// The name of a declared function: what follows "operator", too.
std::string name_in(const std::string& declaration) {
  const std::size_t operation = declaration.find("operator");
  const std::string head = declaration.substr(0, declaration.find('('));
  if (operation < head.size()) {
    const bool is_call = declaration.compare(operation, 10, "operator()") == 0;
    return is_call ? "operator()" : head.substr(operation);
  }
  return head.substr(head.find_last_of(" &*") + 1);
}

/// The declaration of a member function without attributes, body and initializers; empty for what
/// is no function, for templates, and for a constructor that only copies.
std::string member_declaration(const std::string& text, const std::string& class_name) {
  static const std::regex prefix("^(\\[\\[nodiscard\\]\\] |explicit )"),
      body("\\)( const&?&?)?(\\s+:\\s[^]*|\\s\\{[^]*)"), ending("\\)[^)]* = default;$");
  std::string result = std::regex_replace(text, prefix, "");
  result = std::regex_replace(std::regex_replace(result, body, ")$1;"), ending, ");");
  const bool is_function = result.find('(') != std::string::npos && result.back() == ';' &&
                           result.find("= delete") == std::string::npos &&
                           !starts_with(result, "template") && result[0] != ' ' && result[0] != '~';
  const bool copies = starts_with(result, class_name + "(const " + class_name + "&") ||
                      starts_with(result, class_name + "(" + class_name + "&");
  return is_function && !copies ? result : "";
}

/// Reads the lines of one header from the first to the last.
class Reader {
 public:
  explicit Reader(const HeaderText& header) {
    doc_.name = header.name;
    std::istringstream in(header.text);
    for (std::string line; std::getline(in, line);) lines_.push_back(without_attributes(line));
  }

  HeaderDoc read() {
    read_intro();
    while (at_ < lines_.size()) read_item();
    return std::move(doc_);
  }

 private:
  bool more() const { return at_ < lines_.size(); }
  const std::string& line() const { return lines_[at_]; }

  void read_intro() {
    for (; more() && starts_with(line(), "//"); ++at_) {
      doc_.intro +=
          (doc_.intro.empty() ? "" : "\n") + line().substr(std::min<std::size_t>(line().size(), 3));
    }
  }

  /// Reads a docstring with the declarations below it, or skips a line.
  void read_item() {
    const std::size_t first = at_;
    while (more() && is_doc(line())) ++at_;
    if (!more()) return;
    if (const auto space = opened_namespace(line())) space_ = *space;
    if (!mark_of(line()).empty()) {
      read_functions(first);
    } else if (starts_with(line(), "struct ") || starts_with(line(), "using ") ||
               starts_with(line(), "enum class ")) {
      read_type(first);
    } else if (starts_with(line(), "class ")) {
      read_class(first);
    } else if (const std::string constant = constant_in(line()); !constant.empty()) {
      doc_.constants[constant] = docstring(first) + line();
      ++at_;
    } else {
      ++at_;
    }
  }

  /// Reads the docstring lines from `first` to at_, which begin after `indent` blanks.
  FunctionDoc read_text(std::size_t first, std::size_t indent) const {
    FunctionDoc doc;
    doc.space = space_;
    for (std::size_t i = first; i < at_; ++i) {
      const std::string text = lines_[i].substr(std::min(lines_[i].size(), indent + 4));
      if (!starts_with(text, "    ")) {
        doc.text += (doc.text.empty() ? "" : "\n") + text;
        continue;
      }
      if (doc.example.empty()) doc.example_line = static_cast<unsigned>(i + 1);
      doc.example.push_back(text.substr(4));
    }
    return doc;
  }

  void read_functions(std::size_t first) {
    FunctionDoc functions = read_text(first, 0), operators = functions;
    while (more() && !mark_of(line()).empty()) {
      const std::string declaration = unmarked(read_until(";"));
      const bool is_operator = starts_with(name_in(declaration), "operator");
      add_declaration(is_operator ? operators : functions, declaration);
    }
    if (!functions.names.empty()) doc_.functions.push_back(std::move(functions));
    if (!operators.names.empty()) doc_.operators.push_back(std::move(operators));
  }

  static void add_declaration(FunctionDoc& doc, const std::string& text) {
    const std::regex where(",?\\s*Where where = Where::here\\(\\)");
    doc.declarations += std::regex_replace(text, where, "") + "\n";
    const std::string name = name_in(text);
    const bool known = std::find(doc.names.begin(), doc.names.end(), name) != doc.names.end();
    if (!known) doc.names.push_back(name);
  }

  std::string docstring(std::size_t first) const {
    std::string text;
    for (std::size_t i = first; i < at_; ++i) text += lines_[i] + "\n";
    return text;
  }

  /// Keeps the docstring of a class and its public member functions.
  void read_class(std::size_t first) {
    const std::string head = line().substr(0, line().find_first_of("{:;"));
    const std::string name = head.substr(head.rfind(' ', head.size() - 2) + 1);
    const std::string trimmed = name.substr(0, name.find(' '));
    const bool is_forward = ends_declaration(line());
    if (!is_forward) doc_.types[trimmed] = docstring(first) + "class " + trimmed + ";";
    ClassDoc read{read_text(first, 0), {}};
    read.doc.names = {trimmed};
    read.doc.declarations = "class " + trimmed + ";\n";
    ++at_;
    if (is_forward) return;
    read_members(read);
    if (!read.doc.text.empty()) doc_.classes.push_back(std::move(read));
  }

  void read_members(ClassDoc& owner) {
    bool is_public = false;
    while (more() && !starts_with(line(), "};")) {
      const bool is_access = starts_with(line(), " public:") || starts_with(line(), " private:") ||
                             starts_with(line(), " protected:");
      if (is_access) is_public = starts_with(line(), " public:");
      const bool is_member = is_public && (is_doc(line(), 2) || begins_member(line()));
      is_member ? read_member(owner) : static_cast<void>(++at_);
    }
  }

  /// Reads a docstring, if there is one, and the declaration of the function below it.
  void read_member(ClassDoc& owner) {
    const std::size_t first = at_;
    while (more() && is_doc(line(), 2)) ++at_;
    FunctionDoc doc = read_text(first, 2);
    std::string text;
    while (more() && !starts_with(line(), "};")) {
      const std::string read = lines_[at_++];
      text += (text.empty() ? "" : "\n") + read.substr(std::min<std::size_t>(read.size(), 2));
      const char last = read.empty() ? ';' : read.back();
      if (last == ';' || last == '}' || last == '{') break;
    }
    const std::string declaration = member_declaration(text, owner.doc.names[0]);
    if (!declaration.empty()) add_declaration(doc, declaration);
    if (!doc.names.empty()) owner.members.push_back(std::move(doc));
  }

  void read_type(std::size_t first) {
    const bool is_alias = starts_with(line(), "using ");
    const std::size_t begin = line().find(' ', starts_with(line(), "enum ") ? 5 : 0) + 1;
    const std::string name = line().substr(begin, line().find_first_of(" ;:", begin) - begin);
    std::string text = docstring(first);
    const bool is_one_line = is_alias || ends_declaration(line());
    const bool is_forward = !is_alias && is_one_line && line().find('{') == std::string::npos;
    text += read_until(is_one_line ? ";" : "};");
    if (!is_forward) doc_.types[name] = text;
  }

  /// Reads up to the line that ends a declaration (`;`) or, at the margin, a struct (`};`).
  std::string read_until(const std::string& end) {
    std::string text;
    while (more()) {
      const std::string read = lines_[at_++];
      text += (text.empty() ? "" : "\n") + read;
      const bool ends = end == ";" ? read.find(';') != std::string::npos : starts_with(read, "};");
      if (ends) break;
    }
    return text;
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string space_;  // of the lines at at_
  HeaderDoc doc_;
};

}  // namespace

HeaderDoc read_header(const HeaderText& header) { return Reader(header).read(); }

std::vector<HeaderDoc> read_headers() {
  std::vector<HeaderDoc> docs;
  for (const HeaderText& header : header_texts()) {
    HeaderDoc doc = read_header(header);
    if (!doc.functions.empty() || !doc.types.empty()) docs.push_back(std::move(doc));
  }
  return docs;
}

}  // namespace kiln::tool
