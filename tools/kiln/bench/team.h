// Runs work on several threads from a common start, for the calibrations; binds threads to
// processors.
#pragma once

#include <sched.h>

#include <functional>

namespace kiln::bench {

double seconds_now();

/// The mean of that many calls, one after the other.
double seconds_a_call(const std::function<void()>& call, long calls);

/// Calls work(thread) on `threads` threads, which begin together. Returns the seconds until the
/// last one has ended.
double run_together(int threads, const std::function<void(int thread)>& work);

/// Binds the calling thread to the allowed processor of that number, if there is one, for the life
/// of the object.
class ScopedAffinity {
 public:
  explicit ScopedAffinity(int number);
  ~ScopedAffinity();
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;

 private:
  cpu_set_t before_;
  bool known_ = false;
};

/// Binds each other thread of Kiln's pool to a processor of its own; the first one is left to the
/// calling thread. Bindings last until the number of threads is set again.
void bind_pool_threads(int threads);

}  // namespace kiln::bench
