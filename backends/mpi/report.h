// The lines of kiln doctor about this process, or about the ranks of a launcher.
#pragma once

#include <functional>
#include <string>

namespace kiln::mpi {

/// Calls `on_line` with the rank of this process, if a launcher started it, and with the MPI
/// library that open_library() opens for it, or for ranks of the launcher at the path, which prints
/// that version. Throws sdk::Failure as open_library().
void report_library(const std::string& launcher, const std::string& version,
                    const std::function<void(const std::string& line)>& on_line);

}  // namespace kiln::mpi
