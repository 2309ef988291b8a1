// Loads the library, but does not initialise it.
#include "backends/mpi/report.h"

#include "backends/mpi/open_mpi.h"
#include "backends/mpi/signal_handlers.h"
#include "core/types/escaped_text.h"

#include <cstdlib>
#include <optional>

namespace kiln::mpi {
namespace {

std::string rank_line(const Launcher& launcher) {
  const char* const rank = std::getenv(launcher.rank);
  return "rank: " + (rank == nullptr ? "unknown" : escaped_text(rank)) + " of " +
         std::to_string(launcher.ranks) + ", started by " + launcher.title();
}

}  // namespace

void report_library(const std::string& path, const std::string& version,
                    const std::function<void(const std::string& line)>& on_line) {
  const ScopedSignalHandlers handlers;
  Launcher launcher = find_launcher();
  const char* const named = ::secure_getenv("KILN_MPI");
  const bool is_named = named != nullptr && *named != '\0';
  if (launcher.is_present()) on_line(rank_line(launcher));
  else if (!path.empty() || is_named) launcher = launcher_at(path, version);
  const std::optional<Library> library = open_library(launcher);
  if (library) on_line("MPI library: " + library->title() + ", " + library->origin);
}

}  // namespace kiln::mpi
