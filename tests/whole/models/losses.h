// Reads the losses that an example program prints.
#pragma once

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::testing {

/// The losses of lines "<word> <number> loss <loss>".
inline std::vector<double> losses(const std::string& text) {
  std::istringstream lines(text);
  std::vector<double> values;
  for (std::string line; std::getline(lines, line);) {
    double loss = 0;
    if (std::sscanf(line.c_str(), "%*s %*d loss %lf", &loss) == 1) values.push_back(loss);
  }
  return values;
}

}  // namespace kiln::testing
