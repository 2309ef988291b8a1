// Reads collectives.txt of a dump: a row for each collective of a function, in the order in which
// they run.
#pragma once

#include "runtime/distributed/cost_model.h"

#include <cstddef>
#include <string>
#include <vector>

namespace kiln::tool {

struct CollectivesFile {
  std::vector<runtime::distributed::Summand> all_reduces;
  std::size_t others = 0;                 // collectives that are no all-reduces
  std::vector<std::size_t> without_size;  // lines of all-reduces whose bytes are "?"
};

/// The first line begins with '#', as may others. A row has columns that at least two spaces
/// separate: number, collective ("all_reduce sum"), operand ("float32[256,1024]"), its bytes, or
/// "?" if they depend on a call; further columns are ignored. Errors: IoError, and ValueError with
/// file and line for other rows.
CollectivesFile read_collectives(const std::string& path);

}  // namespace kiln::tool
