// Locks that are safe across fork(). The child has only the thread that forked: a lock that another
// thread of the parent held is never released there, and data that it was changing stay half
// changed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

// The rules:
// - Process-wide data are guarded by a mutex that fork() holds (hold_at_fork), so that they are
//   whole in the child. A thread that holds such a mutex takes no other lock and runs no code of a
//   plugin or of the user; hence fork() may take these mutexes in any order.
// - Process-wide objects are constructed while the library is loaded (KILN_AT_LOAD) or by
//   OnceConstructed (no_destructor.h): a child waits for ever for a local static that another
//   thread of the parent was constructing.
// - Any other mutex is a ForkMutex, which is unlocked in the child. Its data are whole at any
//   instant, each change being one store, or are not read in the child.

/// Attribute of a global object that is constructed before all objects without it.
#define KILN_AT_LOAD [[gnu::init_priority(1000)]]

namespace kiln {

namespace detail {
extern constinit std::atomic<std::uint32_t> forks;
}

/// Returns the number of fork()s between the process that loaded this library or plugin and this
/// one, without a system call. Thread-safe.
inline std::uint32_t fork_count() { return detail::forks.load(std::memory_order_relaxed); }

/// A mutex of four bytes that is unlocked in a child of fork(), whoever held it in the parent.
class ForkMutex {
 public:
  constexpr ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() noexcept {
    const std::uint32_t locked_here = fork_count() + 1;
    std::uint32_t found = 0;
    while (!state_.compare_exchange_weak(found, locked_here, std::memory_order_acquire)) {
      if (found != locked_here) continue;  // unlocked, or locked in a parent: take it
      state_.wait(locked_here, std::memory_order_relaxed);
      found = 0;
    }
  }
  void unlock() noexcept {
    state_.exchange(0);  // sequentially consistent: before notify_one() looks for waiting threads
    state_.notify_one();
  }

 private:
  std::atomic<std::uint32_t> state_{0};  // fork_count() + 1 of the process that locked it, else 0
};

/// Makes fork() hold the mutex; returns whether it will. REQUIRES: called while the library is
/// loaded; the rule for such a mutex above.
template <ForkMutex& mutex>
bool hold_at_fork() {
  constexpr auto unlock = [] { mutex.unlock(); };
  return ::pthread_atfork([] { mutex.lock(); }, unlock, unlock) == 0;
}

}  // namespace kiln
