// Sets the number of OpenMP threads, from which oneDNN takes its own.
#pragma once

namespace kiln::cpu {

/// Gives the calling thread one OpenMP thread while it lives, since the bits of oneDNN's results
/// may depend on their number; then restores the caller's number.
class ScopedOneOpenmpThread {
 public:
  ScopedOneOpenmpThread() noexcept;
  ~ScopedOneOpenmpThread();
  ScopedOneOpenmpThread(const ScopedOneOpenmpThread&) = delete;
  ScopedOneOpenmpThread& operator=(const ScopedOneOpenmpThread&) = delete;

 private:
  int before_ = 1;
};

}  // namespace kiln::cpu
