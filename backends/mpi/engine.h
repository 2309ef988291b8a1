// An initialised MPI library behind one of its binary interfaces.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/mpi/launcher.h"
#include "backends/mpi/mpi_api.h"
#include "backends/mpi/open_mpi.h"

#include <string>

namespace kiln::mpi {

template <class Handle>
struct Engine {
  Functions<Handle> functions;
  Handles<Handle> handles{};
  Numbers numbers{};
  std::string library;  // "Open MPI v4.1.4 (/usr/lib/x86_64-linux-gnu/libmpi.so.40)"
  bool is_adopted = false;  // the program has initialised MPI and will finalise it
  int transfers = 0;  // in progress

  void* status_ignore() const { return reinterpret_cast<void*>(numbers.status_ignore); }

  /// Calls a member of `functions`. Throws sdk::Failure UNAVAILABLE with MPI's text for any other
  /// code than MPI_SUCCESS; `name` is MPI's for the function.
  template <class... Parameters, class... Arguments>
  void call(int (*Functions<Handle>::*function)(Parameters...), const char* name,
            Arguments... arguments) const {
    const int code = (functions.*function)(arguments...);
    if (code == kSuccess) return;
    std::string text(kMaxText, '\0');
    int size = 0;
    const bool has_text = functions.error_string(code, text.data(), &size) == kSuccess;
    text.resize(has_text && size >= 0 && size < kMaxText ? static_cast<std::size_t>(size) : 0);
    throw sdk::Failure(
        KILN_CODE_UNAVAILABLE,
        std::string(name) + " failed: " + (text.empty() ? "error " + std::to_string(code) : text))
        .native("MPI", code);
  }
};

/// Resolves the functions of an open library and initialises MPI, if the program has not done so.
/// Throws sdk::Failure: FAILED_PRECONDITION for a thread level that is too low, for an MPI that the
/// program has finalised, and where the library sees another number of ranks than the launcher
/// announces. MPI itself ends the process where it cannot initialise.
template <class Handle>
Engine<Handle> start_engine(const Library& library, const Launcher& launcher);

extern template Engine<int> start_engine(const Library&, const Launcher&);
extern template Engine<void*> start_engine(const Library&, const Launcher&);

}  // namespace kiln::mpi
