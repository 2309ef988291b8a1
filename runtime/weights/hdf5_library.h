// Calls of libkilnhdf5.so, which reads and writes HDF5 (runtime/hdf5). It is opened when it is
// first needed, so that Kiln itself is not linked to HDF5 and the libraries that HDF5 needs.
#pragma once

#include "runtime/hdf5/hdf5_interface.h"

#include "core/types/fork.h"

#include <exception>
#include <mutex>
#include <string>

namespace kiln::runtime {

/// Held during each call of the library, whose state is the process's.
extern constinit ForkMutex hdf5_mutex;

/// Opens the library. IoError "<path> needs ..." if it is missing or cannot be opened.
const kiln_hdf5_api& hdf5_library(const std::string& path);

/// Throws the error of a failed call: `thrown` by a function of the stream, if any; OutOfMemory; or
/// an IoError "<path> <message>".
[[noreturn]] void throw_hdf5(const kiln_hdf5_error& error, std::exception_ptr thrown,
                             const std::string& path);

}  // namespace kiln::runtime
