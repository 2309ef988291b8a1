// The page tools/pages/environment.md, and the variables that its tables list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::tool {

/// Returns the page word for word. The build writes the body.
std::string_view environment_page();

/// Returns the names in the first column of the tables whose first column has that title, such as
/// "variable" or "key", without backticks. A row may have several.
std::vector<std::string> names_of_tables(std::string_view page, std::string_view title);

/// Whether the page lists the variable, by its name or by a beginning such as LD_*.
bool is_listed(const std::vector<std::string>& names, std::string_view variable);

struct SetVariable {
  std::string name, value;
  bool is_listed = false;
};

/// Returns the variables of this process that are not empty and that the page lists or that begin
/// with KILN_ or KERAS_, sorted by name. REQUIRES: no other thread changes the environment.
std::vector<SetVariable> set_variables();

}  // namespace kiln::tool
