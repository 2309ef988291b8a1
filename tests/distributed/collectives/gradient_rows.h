// Gradients through every collective beside those of joint_loss.h.
#pragma once

#include "tests/distributed/collectives/session_ranks.h"

#include <span>

namespace kiln::testing {

/// Runs gradients of both orders on each of the backends. Returns the ends of ranks that found
/// other numbers.
std::string run_gradient_rows(const fake::Settings& settings,
                              std::span<const char* const> backends);

}  // namespace kiln::testing
