// Threads spin at a barrier, so that none starts while another is still being created. Each is
// bound to its own processor: the scheduler may take milliseconds to separate two threads.
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

/// Limit of the wait for the pool's threads, some of which may not exist.
constexpr double kBarrierSeconds = 0.1;

/// Binds the calling thread to the processor of that number among those allowed, if there is one.
void bind_to_processor(const cpu_set_t& allowed, int number) {
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed) || number-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

}  // namespace

ScopedAffinity::ScopedAffinity(int number) {
  CPU_ZERO(&before_);
  known_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
  if (known_) bind_to_processor(before_, number);
}

ScopedAffinity::~ScopedAffinity() {
  if (known_) ::sched_setaffinity(0, sizeof before_, &before_);
}

double run_together(int threads, const std::function<void(int thread)>& work) {
  std::atomic<int> waiting{threads};
  const auto count = static_cast<std::size_t>(threads);
  std::vector<double> begins(count), ends(count);
  const auto member = [&](int thread) {
    const ScopedAffinity affinity(threads > 1 ? thread : CPU_SETSIZE);
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

void bind_pool_threads(int threads) {
  if (threads < 2) return;
  struct Barrier {
    std::thread::id caller = std::this_thread::get_id();
    int threads = 0;
    cpu_set_t allowed;
    std::atomic<int> arrived{0}, next_processor{1};
    double end = seconds_now() + kBarrierSeconds;
  } barrier;
  barrier.threads = threads;
  if (::sched_getaffinity(0, sizeof barrier.allowed, &barrier.allowed) != 0) return;
  const auto arrive = [](void* context, std::uint64_t, std::uint64_t) -> std::uint32_t {
    auto& barrier = *static_cast<Barrier*>(context);
    const bool is_caller = std::this_thread::get_id() == barrier.caller;
    if (!is_caller) bind_to_processor(barrier.allowed, barrier.next_processor++);
    ++barrier.arrived;
    while (barrier.arrived < barrier.threads && seconds_now() < barrier.end) {
      std::this_thread::yield();
    }
    return 0;
  };
  runtime::parallel_for(static_cast<std::uint64_t>(threads), arrive, &barrier);
}

}  // namespace kiln::bench
