// Chooses and opens the MPI library of this process.
#pragma once

#include "backends/mpi/launcher.h"
#include "backends/mpi/mpi_api.h"

#include <optional>
#include <string>

namespace kiln::mpi {

struct Library {
  void* handle = nullptr;  // open until the process ends
  std::string path;
  Abi abi = Abi::OpenMpi;
  const char* origin = "";  // why this one: "which is beside the launcher"

  /// Throws sdk::Failure UNIMPLEMENTED if the library has no such symbol.
  void* symbol(const char* name) const;
  /// "Open MPI v4.1.4 (/usr/lib/x86_64-linux-gnu/libmpi.so.40)". Throws as symbol().
  std::string title() const;
};

/// Opens the first of these: the library with which the program has initialised MPI; the absolute
/// path KILN_MPI; the library that the program is linked to; that of the standard interface, then
/// that of the launcher's kind, in the launcher's folder and the lib folders beside it; the same by
/// the system's loader, the launcher's kind first. Nothing if no launcher started the process and
/// the program has not initialised MPI. Throws sdk::Failure: NOT_FOUND with each attempt,
/// INVALID_ARGUMENT for a KILN_MPI that is no absolute path.
std::optional<Library> open_library(const Launcher& launcher);

}  // namespace kiln::mpi
