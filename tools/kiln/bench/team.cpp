// The threads wait for each other by spinning, so that none starts while another is being made.
// Each stays on a processor of its own: a scheduler may take milliseconds to part two of them.
#include "tools/kiln/bench/team.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace kiln::bench {

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

namespace {

/// Keeps the calling thread on the processor that has this place among those allowed, if there is
/// one; gives back what was allowed before.
class OwnProcessor {
 public:
  explicit OwnProcessor(int place) {
    CPU_ZERO(&before_);
    known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
    if (!known_ || place >= CPU_COUNT(&before_)) return;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (!CPU_ISSET(processor, &before_) || place-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
  ~OwnProcessor() {
    if (known_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  OwnProcessor(const OwnProcessor&) = delete;
  OwnProcessor& operator=(const OwnProcessor&) = delete;

 private:
  cpu_set_t before_;
  bool known_ = false;
};

}  // namespace

double run_together(int threads, const std::function<void(int thread)>& work) {
  std::atomic<int> waiting{threads};
  const auto count = static_cast<std::size_t>(threads);
  std::vector<double> begins(count), ends(count);
  const auto member = [&](int thread) {
    const OwnProcessor own(threads > 1 ? thread : CPU_SETSIZE);
    waiting.fetch_sub(1);
    while (waiting.load() > 0) std::this_thread::yield();
    begins[static_cast<std::size_t>(thread)] = seconds_now();
    work(thread);
    ends[static_cast<std::size_t>(thread)] = seconds_now();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(member, thread);
  member(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(ends.begin(), ends.end()) -
         *std::min_element(begins.begin(), begins.end());
}

}  // namespace kiln::bench
