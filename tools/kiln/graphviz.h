// Lays out pictures by Graphviz's program `dot`.
#pragma once

#include <chrono>
#include <string>

namespace kiln::tool {

struct Layout {
  std::string bytes;    // of the file
  std::string failure;  // why there is none; empty on success
};

/// Runs `dot -Tformat` from PATH, without a shell, on a text in the DOT language; kills it after
/// `limit`. Throws IoError where files in memory cannot be made.
Layout lay_out(const std::string& picture, const std::string& format,
               std::chrono::milliseconds limit);

}  // namespace kiln::tool
