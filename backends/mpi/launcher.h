// Reads the number of ranks that an MPI launcher announces in the environment of its processes.
#pragma once

#include "backends/mpi/mpi_api.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::mpi {

struct Launcher {
  std::string name;  // "mpirun", "mpiexec" or "srun"; empty: no launcher started this process
  std::string path;  // absolute path of its executable on this machine; empty: unknown
  std::uint32_t ranks = 1;  // 0: it did not start this process
  std::vector<Abi> abis;  // interfaces of the libraries that it may start, the likeliest first
  const char* rank = "";  // the variable with the number of this rank

  bool is_present() const { return !name.empty(); }
  /// "mpirun (/usr/bin/orterun)".
  std::string title() const { return path.empty() ? name : name + " (" + path + ")"; }
  /// "started 4 ranks".
  std::string action() const {
    return ranks == 0 ? "starts ranks" : "started " + std::to_string(ranks) + " ranks";
  }
};

/// Reads the variables of Open MPI's mpirun, of the mpiexec of MPICH and compatible libraries, and
/// of Slurm's srun, in this order, as mpirun and mpiexec may run within Slurm, whose --mpi=pmi2
/// sets those of mpiexec. Throws sdk::Failure INVALID_ARGUMENT for a number of ranks that is not
/// one.
Launcher find_launcher();

/// The launcher at a path, which prints this version, as a process that it starts would find it.
Launcher launcher_at(const std::string& path, const std::string& version);

}  // namespace kiln::mpi
