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
  std::uint32_t ranks = 1;
  std::vector<Abi> abis;  // interfaces of the libraries that it may start, the likeliest first

  bool is_present() const { return !name.empty(); }
  /// "mpirun (/usr/bin/orterun)".
  std::string title() const { return path.empty() ? name : name + " (" + path + ")"; }
};

/// Reads the variables of Open MPI's mpirun, of the mpiexec of MPICH and its kin, and of Slurm's
/// srun, in this order, as mpirun and mpiexec may run within Slurm, whose --mpi=pmi2 sets those of
/// mpiexec. Throws sdk::Failure
/// INVALID_ARGUMENT for a number that is none.
Launcher find_launcher();

}  // namespace kiln::mpi
