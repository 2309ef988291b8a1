// Asks the communicator.
#include "tools/kiln/doctor_group.h"

#include "core/types/text.h"
#include "runtime/distributed/communicator.h"
#include "tools/kiln/error_reason.h"
#include "tools/kiln/mpi_launcher.h"

#include <kiln/error.h>

#include <optional>

namespace kiln::tool {

ProbeAnswer probe_group() {
  using namespace runtime::distributed;
  const std::optional<MpiLauncher> launcher = find_mpi_launcher();
  const std::string name = default_communicator();
  const std::string origin = name == "mpi" ? "" : " (KILN_COMMUNICATOR)";
  ProbeAnswer answer;
  if (launcher) answer.push_back(text("launcher: ", launcher->path, " (", launcher->version, ")"));
  else answer.push_back(text("launcher: none, as ", kNoMpiLauncher));
  try {
    const CommunicatorLibrary& library = open_communicator_library(name, "init");
    const std::vector<std::string> lines =
        report_of(library, launcher ? launcher->path : "", launcher ? launcher->version : "");
    if (!launcher && lines.empty() && origin.empty()) return answer;
    answer.push_back(text("communicator: ", library.name, ", ", library.path, origin));
    answer.insert(answer.end(), lines.begin(), lines.end());
  } catch (const Error& error) {
    answer.push_back(text("communicator: ", reason_of(error), origin));
  }
  return answer;
}

}  // namespace kiln::tool
