// The commands of kiln, as its --help lists them.
#pragma once

#include "tests/support/process.h"
#include "test_folders.h"

#include <sstream>
#include <string>
#include <vector>

namespace kiln::testing {

inline std::vector<std::string> kiln_commands() {
  std::vector<std::string> names;
  std::istringstream lines(run_shell("'" KILN_BINARY_DIR "/bin/kiln' --help").text);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (is_inside && line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
    is_inside = line == "Commands:" || (is_inside && !line.empty());
  }
  return names;
}

}  // namespace kiln::testing
