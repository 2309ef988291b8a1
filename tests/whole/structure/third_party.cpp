// Reads the tables of third_party/README.md.
#include "tests/whole/structure/third_party.h"

#include "tests/whole/structure/source_tree.h"

#include <algorithm>
#include <sstream>

namespace structure_test {
namespace {

/// The cells of a row of a table, without the blanks around them; empty for other lines.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with("| ")) return cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

/// "a" and "b" of "`a` `b`".
std::vector<std::string> quoted_words(const std::string& cell) {
  std::vector<std::string> words;
  std::istringstream stream(cell);
  for (std::string word; stream >> word;) {
    if (word.size() > 2 && word.front() == '`' && word.back() == '`') {
      words.push_back(word.substr(1, word.size() - 2));
    }
  }
  return words;
}

/// The rows of the table whose first column has that title.
std::vector<std::vector<std::string>> rows_of_table(const std::string& title) {
  std::vector<std::vector<std::string>> rows;
  bool is_inside = false;
  for (const std::string& line : lines_of(kRoot / "third_party" / "README.md")) {
    const std::vector<std::string> cells = cells_of(line);
    if (!cells.empty() && cells[0] == title) {
      is_inside = true;
    } else if (line.empty()) {
      is_inside = false;
    } else if (is_inside && !cells.empty()) {
      rows.push_back(cells);
    }
  }
  return rows;
}

std::vector<Library> read_libraries() {
  std::vector<Library> libraries;
  for (const std::vector<std::string>& row : rows_of_table("headers")) {
    for (const std::string& header : quoted_words(row.front())) {
      libraries.push_back({header.substr(1, header.size() - 2), quoted_words(row.back())});
    }
  }
  return libraries;
}

std::vector<std::string> read_dependencies() {
  std::vector<std::string> names;
  for (const std::vector<std::string>& row : rows_of_table("dependency")) names.push_back(row[0]);
  return names;
}

}  // namespace

bool Library::has(const std::string& header) const {
  if (headers.ends_with('*')) return header.starts_with(headers.substr(0, headers.size() - 1));
  return header == headers;
}

bool Library::may_be_included_by(const std::string& file) const {
  return std::any_of(includers.begin(), includers.end(), [&](const std::string& includer) {
    return file == includer || file.starts_with(includer + "/");
  });
}

const std::vector<Library>& libraries() {
  static const std::vector<Library> libraries = read_libraries();
  return libraries;
}

const std::vector<std::string>& dependencies() {
  static const std::vector<std::string> names = read_dependencies();
  return names;
}

}  // namespace structure_test
