// Keeps the program's signal handlers while MPI is opened or finalised, which replaces several.
#pragma once

#include <signal.h>

#include <array>

namespace kiln::mpi {

/// Restores, in its destructor, each signal action that is not the default one. MPI's own handlers
/// thus serve only signals for which the program has none: those of crashes, which print a stack
/// and then end the process by the same signal. REQUIRES: no other thread sets handlers meanwhile.
class ScopedSignalHandlers {
 public:
  ScopedSignalHandlers();
  ~ScopedSignalHandlers();
  ScopedSignalHandlers(const ScopedSignalHandlers&) = delete;
  ScopedSignalHandlers& operator=(const ScopedSignalHandlers&) = delete;

 private:
  struct Saved {
    struct sigaction action;
    bool is_own = false;  // neither the default action nor one that cannot be read
  };
  std::array<Saved, NSIG> saved_{};
};

}  // namespace kiln::mpi
