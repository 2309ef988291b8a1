// Saves and restores signal actions one by one.
#include "backends/mpi/signal_handlers.h"

namespace kiln::mpi {

ScopedSignalHandlers::ScopedSignalHandlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    Saved& saved = saved_[static_cast<std::size_t>(signal)];
    const bool is_read = ::sigaction(signal, nullptr, &saved.action) == 0;
    const bool has_info = is_read && (saved.action.sa_flags & SA_SIGINFO) != 0;
    saved.is_own = has_info || (is_read && saved.action.sa_handler != SIG_DFL);
  }
}

ScopedSignalHandlers::~ScopedSignalHandlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    const Saved& saved = saved_[static_cast<std::size_t>(signal)];
    if (saved.is_own) ::sigaction(signal, &saved.action, nullptr);
  }
}

}  // namespace kiln::mpi
