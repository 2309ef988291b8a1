// Reads the dump of a plan (52-plan.txt).
#pragma once

#include "tests/support/scratch.h"

#include <sstream>
#include <string>
#include <vector>

namespace kiln::testing {

struct PlanText {
  std::vector<std::string> results;  // their slots, "%14"
  std::vector<std::string> types;  // of the results, "float32[3,4]"
  std::string before, region;  // lines of steps before and in the parallel region
  std::string bodies;  // lines of steps of loops

  explicit PlanText(const std::string& path) {
    std::istringstream plan(contents_of(path));
    bool in_region = false;
    for (std::string line; std::getline(plan, line);) {
      const bool in_body = line.rfind("  ", 0) == 0;
      if (line.rfind("in parallel", 0) == 0) in_region = true;
      if (!in_body) add_result(line);
      (in_body ? bodies : in_region ? region : before) += line + "\n";
    }
  }

  /// Whether steps in these lines write the result.
  bool writes(const std::string& lines, std::size_t result) const {
    return lines.find(results[result] + ",") != std::string::npos ||
           lines.find(results[result] + ")") != std::string::npos;
  }

 private:
  void add_result(const std::string& line) {
    const std::string keyword = " = result ";
    const std::size_t end = line.find(keyword);
    if (end == std::string::npos) return;
    results.push_back(line.substr(0, end));
    types.push_back(line.substr(line.find(' ', end + keyword.size()) + 1));
  }
};

}  // namespace kiln::testing
