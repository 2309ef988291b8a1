// Waits for processes that this program started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace kiln::tool {

/// Waits for the process, and kills it after `limit`. Returns how it ended, "crashes with SIGSEGV
/// (signal 11)", "exits with status 3", "hangs: it has not ended after 60 s"; empty: it exited with
/// status 0.
std::string wait_for(pid_t child, std::chrono::milliseconds limit);

}  // namespace kiln::tool
