// The library takes its number of threads from OpenMP, and its bits may depend on it: while a
// OneOpenmpThread lives, the calling thread has one. The caller's number comes back after it.
#pragma once

namespace kiln::cpu {

class OneOpenmpThread {
 public:
  OneOpenmpThread() noexcept;
  ~OneOpenmpThread();
  OneOpenmpThread(const OneOpenmpThread&) = delete;
  OneOpenmpThread& operator=(const OneOpenmpThread&) = delete;

 private:
  int before_ = 1;
};

}  // namespace kiln::cpu
