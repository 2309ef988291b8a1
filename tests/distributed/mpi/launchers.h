// Finds the launchers of this machine and starts ranks of the driver with them.
#pragma once

#include "tests/support/build_folder.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace mpi_test {

using kiln::testing::build_folder;
using kiln::testing::Outcome;
using kiln::testing::run_shell;

/// An implementation of MPI, of which `variable` may name the launcher.
struct Implementation {
  std::string name;
  std::string variable;
  std::vector<std::string> programs;
  std::string version;  // in what the launcher prints for --version
  std::string options;  // for ranks of root, more than there are processors, bound to none
  std::string package;
};
inline const Implementation kOpenMpi{"Open MPI",
                                     "KILN_TEST_OPEN_MPI",
                                     {"mpirun.openmpi", "mpirun"},
                                     "(Open MPI)",
                                     "--allow-run-as-root --oversubscribe --bind-to none",
                                     "openmpi-bin"};
inline const Implementation kMpich{
    "MPICH", "KILN_TEST_MPICH", {"mpiexec.mpich", "mpiexec"}, "HYDRA", "", "mpich"};

/// The command of the launcher; empty where the machine has none, or none that starts processes
/// here, which is printed as left out.
inline std::string launcher(const Implementation& implementation) {
  std::vector<std::string> programs = implementation.programs;
  const char* named = std::getenv(implementation.variable.c_str());
  if (named != nullptr) programs = {named};
  for (const std::string& program : programs) {
    const Outcome outcome = run_shell(program + " --version");
    if (outcome.text.find(implementation.version) == std::string::npos) continue;
    const std::string command = program + " " + implementation.options;
    const Outcome started = run_shell(command + " -n 2 true");
    if (started.status == 0) return command;
    WARN("left out: " << program << " of " << implementation.name
                      << " starts no process here: " << started.text);
    return "";
  }
  WARN("left out: PATH has no launcher of " << implementation.name << " (package "
                                            << implementation.package << ")");
  return "";
}

/// The command line of one rank.
inline std::string driver(const std::string& command) {
  const std::string& folder = build_folder();
  return folder + "/bin/communicator_driver " + folder + "/lib/libkilncomm_mpi.so " + command;
}

/// Runs that many ranks of the driver.
inline Outcome run_ranks(const std::string& launcher, int ranks, const std::string& command) {
  return run_shell(launcher + " -n " + std::to_string(ranks) + " " + driver(command));
}

/// How many lines of the text end in `end`.
inline int lines_with_end(const std::string& text, const std::string& end) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(end)) ++count;
  }
  return count;
}

}  // namespace mpi_test
