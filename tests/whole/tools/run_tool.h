// Runs the command line tool.
#pragma once

#include "test_folders.h"
#include "tests/support/process.h"

#include <string>

namespace kiln::testing {

inline Outcome run_tool(const std::string& arguments) {
  return run_shell("'" KILN_BINARY_DIR "/bin/kiln' " + arguments);
}

}  // namespace kiln::testing
