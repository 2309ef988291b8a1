// Keeps threads out of oneDNN once the process exits: exit handlers of oneDNN free its JIT code
// while threads may still run it. README.md has the mechanism and its limits.
#pragma once

#include <string>

namespace kiln::cpu {

/// Counts the calling thread as a user of oneDNN while it lives; the process's exit waits for
/// users, at most 2 seconds. Any thread, lock-free; nests.
class LibraryGuard {
 public:
  LibraryGuard();
  ~LibraryGuard();
  LibraryGuard(const LibraryGuard&) = delete;
  LibraryGuard& operator=(const LibraryGuard&) = delete;

  /// False once the process exits: oneDNN must not be called, and the caller computes without it.
  explicit operator bool() const noexcept { return allowed_; }

 private:
  unsigned slot_;
  bool allowed_;
};

/// Registers the exit handler that waits for LibraryGuards, at the first call with `first_use`, a
/// name of what oneDNN did. To be called after everything that may have made oneDNN register an
/// exit handler: handlers run in reverse order, so ours then runs before. Any thread. Throws
/// std::bad_alloc.
void guard_exit_after(const std::string& first_use);

}  // namespace kiln::cpu
