// Reads the tables of third_party/README.md: dependencies, and the files that may include them.
#pragma once

#include <string>
#include <vector>

namespace structure_test {

/// Headers of a library, and the only folders or files that may include them.
struct Library {
  std::string headers;  // "zlib.h", or "llvm/*" for all that begin with "llvm/"
  std::vector<std::string> includers;

  bool has(const std::string& header) const;
  bool may_be_included_by(const std::string& file) const;
};

const std::vector<Library>& libraries();
/// The first column of the table of dependencies.
const std::vector<std::string>& dependencies();

}  // namespace structure_test
