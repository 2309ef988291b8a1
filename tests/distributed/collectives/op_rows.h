// Every kind of collective, dtype and size beside expected_results.h.
#pragma once

#include "tests/distributed/collectives/session_ranks.h"

#include <span>

namespace kiln::testing {

/// Runs all rows of so many ranks on each of the backends. Returns the ends of ranks that found
/// other bits.
std::string run_op_rows(const fake::Settings& settings, std::span<const char* const> backends);

}  // namespace kiln::testing
