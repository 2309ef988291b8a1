// Files whose readers may crash, read in a process of their own.
#pragma once

#include <string>

namespace kiln::tool {

/// If HDF5 reads the file, forks and returns in the child; this process waits and ends with the
/// child's status, by CLI::RuntimeError. IoError for a child that crashes. REQUIRES: one thread.
void isolate_hdf5(const std::string& path);

}  // namespace kiln::tool
