// Running one piece of work on several threads from a common start, for the calibrations.
#pragma once

#include <functional>

namespace kiln::bench {

double seconds_now();

/// Calls work(thread) on `threads` threads, which begin together; the seconds until the last one
/// has ended.
double run_together(int threads, const std::function<void(int thread)>& work);

}  // namespace kiln::bench
