// The launcher of an MPI library on PATH, and the command line by which it starts ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln::tool {

struct MpiLauncher {
  enum class Family { OpenMpi, Hydra };  // Hydra: of MPICH and its relatives
  Family family = Family::OpenMpi;
  std::string path;
  std::string version;  // "mpirun (Open MPI) 4.1.4", "Hydra 4.0.2"
};

/// Why there is no launcher.
inline constexpr const char* kNoMpiLauncher =
    "neither mpirun nor mpiexec of Open MPI or MPICH is on PATH; on Debian, install openmpi-bin or "
    "mpich";

/// The first of mpirun, mpiexec and mpiexec.hydra on PATH that is a launcher of a known family.
std::optional<MpiLauncher> find_mpi_launcher();

struct LaunchOptions {
  int ranks = 1;
  std::string hosts;  // a file with one host per line; empty: this machine
  bool allow_root = false;
  std::vector<std::string> program;  // with its arguments
};

/// The command that starts the ranks, with the flags that they need: Open MPI binds each of two
/// ranks to one core unless told otherwise, and rejects more ranks than processors.
std::vector<std::string> launch_command(const MpiLauncher& launcher, const LaunchOptions& options,
                                        int processors);

}  // namespace kiln::tool
