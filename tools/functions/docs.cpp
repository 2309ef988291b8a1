// Parses line by line: in the project's style, the beginning of a line tells docstrings and
// declarations.
#include "tools/functions/docs.h"

#include <algorithm>
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

bool is_doc(const std::string& line) { return starts_with(line, "///"); }

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
    if (!mark_of(line()).empty()) {
      read_functions(first);
    } else if (starts_with(line(), "struct ") || starts_with(line(), "using ")) {
      read_type(first);
    } else if (starts_with(line(), "class ")) {
      read_class(first);
    } else {
      ++at_;
    }
  }

  void read_functions(std::size_t first) {
    FunctionDoc doc;
    for (std::size_t i = first; i < at_; ++i) {
      const std::string text = lines_[i].substr(std::min<std::size_t>(lines_[i].size(), 4));
      if (!starts_with(text, "    ")) {
        doc.text += (doc.text.empty() ? "" : "\n") + text;
        continue;
      }
      if (doc.example.empty()) doc.example_line = static_cast<unsigned>(i + 1);
      doc.example.push_back(text.substr(4));
    }
    while (more() && !mark_of(line()).empty()) read_declaration(doc);
    if (!doc.names.empty()) doc_.functions.push_back(std::move(doc));
  }

  void read_declaration(FunctionDoc& doc) {
    const std::string text = unmarked(read_until(";"));
    const std::string head = text.substr(0, text.find('('));
    const std::string name = head.substr(head.find_last_of(" &*") + 1);
    if (head.find("operator") != std::string::npos) return;
    const std::regex where(",?\\s*Where where = Where::here\\(\\)");
    doc.declarations += std::regex_replace(text, where, "") + "\n";
    const bool known = std::find(doc.names.begin(), doc.names.end(), name) != doc.names.end();
    if (!known) doc.names.push_back(name);
  }

  std::string docstring(std::size_t first) const {
    std::string text;
    for (std::size_t i = first; i < at_; ++i) text += lines_[i] + "\n";
    return text;
  }

  /// Keeps the docstring of a class without its members.
  void read_class(std::size_t first) {
    const std::string head = line().substr(0, line().find_first_of("{:;"));
    const std::string name = head.substr(head.rfind(' ', head.size() - 2) + 1);
    const std::string trimmed = name.substr(0, name.find(' '));
    if (line().back() != ';') doc_.types[trimmed] = docstring(first) + "class " + trimmed + ";";
    ++at_;
  }

  void read_type(std::size_t first) {
    const bool is_alias = starts_with(line(), "using ");
    const std::size_t begin = line().find(' ') + 1;
    const std::string name = line().substr(begin, line().find_first_of(" ;:", begin) - begin);
    std::string text = docstring(first);
    const bool is_forward = !is_alias && line().back() == ';';
    text += read_until(is_alias || is_forward ? ";" : "};");
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
