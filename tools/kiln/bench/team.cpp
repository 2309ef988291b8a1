// The threads wait for each other by spinning, so that none starts while another is being made.
// Each stays on a processor of its own: a scheduler may take milliseconds to part two of them.
#include "tools/kiln/bench/team.h"

#include "runtime/host/thread_pool.h"

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

double seconds_a_call(const std::function<void()>& call, long calls) {
  const double begin = seconds_now();
  for (long i = 0; i < calls; ++i) call();
  return (seconds_now() - begin) / static_cast<double>(calls);
}

namespace {

/// How long the pool's threads are waited for: some may not exist.
constexpr double kMeetingSeconds = 0.1;

/// Keeps the calling thread on the processor that has this place among those, if there is one.
void stay_on(const cpu_set_t& allowed, int place) {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || place-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

OwnProcessor::OwnProcessor(int place) {
  CPU_ZERO(&before_);
  known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
  if (known_) stay_on(before_, place);
}

OwnProcessor::~OwnProcessor() {
  if (known_) ::sched_setaffinity(0, sizeof before_, &before_);
}

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

void part_pool(int threads) {
  if (threads < 2) return;
  struct Meeting {
    std::thread::id caller = std::this_thread::get_id();
    int threads = 0;
    cpu_set_t allowed;
    std::atomic<int> here{0}, place{1};
    double end = seconds_now() + kMeetingSeconds;
  } meeting;
  meeting.threads = threads;
  if (::sched_getaffinity(0, sizeof meeting.allowed, &meeting.allowed) != 0) return;
  const auto arrive = [](void* context, std::uint64_t, std::uint64_t) -> std::uint32_t {
    auto& meeting = *static_cast<Meeting*>(context);
    const bool is_caller = std::this_thread::get_id() == meeting.caller;
    if (!is_caller) stay_on(meeting.allowed, meeting.place++);
    ++meeting.here;
    while (meeting.here < meeting.threads && seconds_now() < meeting.end) {
      std::this_thread::yield();
    }
    return 0;
  };
  runtime::parallel_for(static_cast<std::uint64_t>(threads), arrive, &meeting);
}

}  // namespace kiln::bench
