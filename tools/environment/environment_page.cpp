// Parses the tables of the page: lines that begin with '|'.
#include "tools/environment/environment_page.h"

#include <unistd.h>

#include <algorithm>

namespace kiln::tool {
namespace {

/// The first cell of a row without blanks at its ends; empty for lines that are none.
std::string_view first_cell(std::string_view line) {
  if (!line.starts_with("| ")) return {};
  const std::string_view cell = line.substr(2, line.find(" |", 2) - 2);
  return cell.substr(0, cell.find_last_not_of(' ') + 1);
}

void add_quoted(std::string_view cell, std::vector<std::string>& names) {
  for (std::size_t open = cell.find('`'); open != cell.npos;) {
    const std::size_t close = cell.find('`', open + 1);
    if (close == cell.npos) return;
    names.emplace_back(cell.substr(open + 1, close - open - 1));
    open = cell.find('`', close + 1);
  }
}

}  // namespace

std::vector<std::string> names_of_tables(std::string_view page, std::string_view title) {
  std::vector<std::string> names;
  bool is_wanted = false;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size() - 1) + 1;
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(end);
    const std::string_view cell = first_cell(line);
    const bool is_row = cell.starts_with('`');
    if (is_row && is_wanted) add_quoted(cell, names);
    if (!is_row && !cell.empty()) is_wanted = cell == title;
  }
  return names;
}

bool is_listed(const std::vector<std::string>& names, std::string_view variable) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    if (!name.ends_with('*')) return name == variable;
    return variable.starts_with(name.substr(0, name.size() - 1));
  });
}

std::vector<SetVariable> set_variables() {
  const std::vector<std::string> names = names_of_tables(environment_page(), "variable");
  std::vector<SetVariable> set;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    const bool is_named = is_listed(names, name);
    const bool is_own = name.starts_with("KILN_") || name.starts_with("KERAS_");
    const bool is_set = equals + 1 < text.size();
    if (!is_set || (!is_named && !is_own)) continue;
    set.push_back({std::string(name), std::string(text.substr(equals + 1)), is_named});
  }
  std::sort(set.begin(), set.end(),
            [](const SetVariable& a, const SetVariable& b) { return a.name < b.name; });
  return set;
}

}  // namespace kiln::tool
