// Finds and opens the libraries that move bytes between processes, libkilncomm_<name>.so.
#pragma once

#include "backends/abi/kiln_communicator.h"

#include <string>

namespace kiln::runtime::distributed {

/// Opened once per file, never closed and never freed.
struct CommunicatorLibrary {
  std::string name, version, path;
  kiln_communicator_api api{};  // only `notify` may be null
};

/// The name or path that init() uses unless it is given one: KILN_COMMUNICATOR, else "mpi".
std::string default_communicator();

/// Returns the library of that name, libkilncomm_<name>.so beside libkiln.so, or of that absolute
/// path. The checks are those of backends (runtime/plugin). Errors: BackendError that starts with
/// `function`. Thread-safe.
const CommunicatorLibrary& open_communicator_library(const std::string& name_or_path,
                                                     const std::string& function);

}  // namespace kiln::runtime::distributed
