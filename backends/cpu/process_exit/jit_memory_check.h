// Checks for memory before calls that may make oneDNN generate code: version 2.6 aborts the process
// where its JIT cannot allocate.
#pragma once

#include <mutex>

namespace kiln::cpu {

/// Checks at construction that the process can map 64 MiB, and holds a lock until it is destroyed,
/// so that threads generate code one after the other and each finds the memory that it checked for.
class JitMemoryCheck {
 public:
  JitMemoryCheck();
  /// Whether there is enough memory.
  explicit operator bool() const noexcept { return has_memory_; }
  /// Throws std::bad_alloc where there is not.
  void require() const;

 private:
  std::unique_lock<std::mutex> lock_;
  bool has_memory_;
};

}  // namespace kiln::cpu
