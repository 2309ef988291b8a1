// Serialises opening of shared libraries (dlopen), across fork().
#pragma once

#include "core/types/fork.h"

#include <mutex>

namespace kiln::runtime {

/// One thread at a time holds a LoadLock while it opens a library. In a child of a fork() during
/// that, glibc's loader is unusable: nothing can be opened there.
class LoadLock {
 public:
  /// The reason that `reject` gives to the user.
  static constexpr const char* kForkedText =
      "a shared library was being opened when the process forked, and no other can be opened in "
      "its child; start a new program instead of forking";

  /// Calls reject(), which throws, in a child of a fork() while a LoadLock existed.
  template <class Reject>
  explicit LoadLock(const Reject& reject) : lock_(mutex) {
    if (is_loading) reject();
    is_loading = true;
  }
  ~LoadLock() { is_loading = false; }
  LoadLock(const LoadLock&) = delete;
  LoadLock& operator=(const LoadLock&) = delete;

 private:
  static constinit inline ForkMutex mutex;
  /// Stays true in a child of a fork() during a load.
  static constinit inline bool is_loading = false;
  const std::lock_guard<ForkMutex> lock_;
};

}  // namespace kiln::runtime
