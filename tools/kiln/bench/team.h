// Running one piece of work on several threads from a common start, for the calibrations; where
// threads run.
#pragma once

#include <sched.h>

#include <functional>

namespace kiln::bench {

double seconds_now();

/// The mean of that many calls, one after the other.
double seconds_a_call(const std::function<void()>& call, long calls);

/// Calls work(thread) on `threads` threads, which begin together; the seconds until the last one
/// has ended.
double run_together(int threads, const std::function<void(int thread)>& work);

/// Keeps the calling thread on the processor that has this place among those allowed, if there is
/// one; gives back what was allowed before.
class OwnProcessor {
 public:
  explicit OwnProcessor(int place);
  ~OwnProcessor();
  OwnProcessor(const OwnProcessor&) = delete;
  OwnProcessor& operator=(const OwnProcessor&) = delete;

 private:
  cpu_set_t before_;
  bool known_ = false;
};

/// Gives every thread of Kiln's pool but the calling one a processor of its own, after the first,
/// which is left to the calling thread. They keep it until the number of threads is set again.
void part_pool(int threads);

}  // namespace kiln::bench
