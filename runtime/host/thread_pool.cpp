// A list of running loops that idle threads join. A loop lives on its caller's stack; the caller
// removes it from the list and then waits until no worker is inside. The pool is never destroyed,
// and its threads are not joined at exit.
// Work stealing with static shares: each thread starts with a share of its own, the same in every
// loop, whose data its cache has from the previous loop, and then steals from the other shares.
#include "runtime/host/thread_pool.h"

#include <kiln/error.h>

#include "core/types/fp_environment.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kPartsPerThread = 4;
/// Polls before sleeping: about 50 microseconds, longer than the time between two loops of a call
/// and far shorter than waking a thread twice.
constexpr int kSpins = 2000;

struct Loop {
  RangeBody body;
  void* context;
  std::uint64_t n;
  std::uint64_t parts;
  std::uint64_t shares;                   // one per thread
  std::atomic<std::uint64_t> claimed{0};  // count of claimed parts
  std::array<std::atomic<std::uint64_t>, kMaxThreads * kPartsPerThread / 64> is_claimed{};  // bits
  std::atomic<std::uint32_t> code{0};
  std::atomic<unsigned> workers{0};  // pool threads in the loop; incremented under the lock
};

struct Pool {
  std::mutex mutex;
  std::condition_variable work;  // a loop was added, or the threads must stop
  std::condition_variable idle;  // a worker left a loop, a loop ended, or a resize ended
  std::vector<Loop*> loops;
  std::atomic<std::uint64_t> loops_added{0};
  std::vector<std::thread> threads;
  bool resizing = false;  // set_thread_count is running: no other loop starts
  bool stopping = false;
  unsigned wanted = 0;            // number of threads; 0: not configured yet
  std::atomic<pid_t> process{0};  // that started the threads
};

Pool& pool() {
  static NoDestructor<Pool> instance;
  return *instance;
}

thread_local bool inside_loop = false;

// Returns where a part of [0, n) begins, without overflow: the first n % parts are one longer.
std::uint64_t part_begin(const Loop& loop, std::uint64_t part) {
  const std::uint64_t extra = std::min(part, loop.n % loop.parts);
  return loop.n / loop.parts * part + extra;
}

bool claim(Loop& loop, std::uint64_t part) {
  std::atomic<std::uint64_t>& word = loop.is_claimed[part / 64];
  const std::uint64_t bit = std::uint64_t{1} << part % 64;
  if (word.load(std::memory_order_relaxed) & bit) return false;
  if (word.fetch_or(bit, std::memory_order_relaxed) & bit) return false;
  loop.claimed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void run_part(Loop& loop, std::uint64_t part) {
  const std::uint32_t code =
      loop.body(loop.context, part_begin(loop, part), part_begin(loop, part + 1));
  std::uint32_t none = 0;
  if (code != 0) loop.code.compare_exchange_strong(none, code);
}

/// Runs the thread's own share in order, then steals the other parts in descending order,
/// cyclically from the part before its own share.
void run_parts(Loop& loop, unsigned thread) {
  inside_loop = true;
  const std::uint64_t parts = loop.parts, share = thread % loop.shares;
  const std::uint64_t first = share * parts / loop.shares;
  const std::uint64_t own = (share + 1) * parts / loop.shares - first;
  for (std::uint64_t i = 0; i < parts && loop.claimed.load(std::memory_order_relaxed) < parts;
       ++i) {
    const std::uint64_t part = i < own ? first + i : (first + parts - 1 - (i - own)) % parts;
    if (loop.code.load(std::memory_order_relaxed) != 0) break;
    if (claim(loop, part)) run_part(loop, part);
  }
  inside_loop = false;
}

// Returns a loop with unclaimed parts, or null. Requires the lock.
Loop* open_loop(Pool& state) {
  for (Loop* loop : state.loops) {
    if (loop->code == 0 && loop->claimed < loop->parts) return loop;
  }
  return nullptr;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Polls until `done` or kSpins polls; returns whether it is done.
template <class Done>
bool spin_until(const Done& done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    pause();
  }
  return false;
}

// Leaves a loop. The last worker must not access it afterwards: it lives on the caller's stack.
void leave(Pool& state, Loop& loop) {
  if (loop.workers.fetch_sub(1) != 1) return;
  // The caller checks the count under the lock. Once the lock was free, a caller that saw the old
  // count is asleep, so that it gets the notification.
  { const std::lock_guard lock(state.mutex); }
  state.idle.notify_all();
}

/// Waits until a loop is added, polling first. A thread that wakes too late for its loop polls for
/// the next one as well: in a sequence of short loops it would be late for each of them otherwise.
void wait_for_loop(Pool& state, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = state.loops_added;
  lock.unlock();
  spin_until([&] { return state.loops_added != seen; });
  lock.lock();
  state.work.wait(lock, [&] { return state.stopping || state.loops_added != seen; });
}

void run_worker(unsigned thread) {
  const ScopedFpEnvironment usual;  // not inherited from the thread that started this one
  Pool& state = pool();
  std::unique_lock lock(state.mutex);
  while (!state.stopping) {
    Loop* loop = open_loop(state);
    if (loop == nullptr) {
      wait_for_loop(state, lock);
      continue;
    }
    ++loop->workers;
    lock.unlock();
    run_parts(*loop, thread);
    leave(state, *loop);
    lock.lock();
  }
}

// Requires the lock. Ignores failures to start threads: the pool is then smaller.
void start_threads(Pool& state, unsigned count) {
  state.process = getpid();
  try {
    while (state.threads.size() + 1 < count) {
      state.threads.emplace_back(run_worker, static_cast<unsigned>(state.threads.size() + 1));
    }
  } catch (const std::system_error&) {
  }
}

unsigned available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
    return static_cast<unsigned>(CPU_COUNT(&set));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

unsigned configured_threads() {
  const char* given = std::getenv("KILN_THREADS");
  if (given == nullptr || *given == '\0') return std::min(available_processors(), kMaxThreads);
  unsigned count = 0;
  const char* end = given + std::strlen(given);
  const auto [rest, error] = std::from_chars(given, end, count);
  if (error != std::errc() || rest != end || count == 0 || count > kMaxThreads) {
    const Caller caller = Caller::of();
    throw ConfigError(caller.function, "KILN_THREADS",
                      text("KILN_THREADS is '", given, "' but must be a number from 1 to ",
                           kMaxThreads),
                      caller.where);
  }
  return count;
}

void require_same_process(const Pool& state) {
  const pid_t started_by = state.process;
  if (started_by == 0 || started_by == getpid()) return;
  const Caller caller = Caller::of();
  throw BackendError(caller.function, "",
                     text("the thread pool was started in process ", started_by,
                          " and does not exist in its forked child ", getpid(),
                          "; start a new program instead of forking"),
                     caller.where);
}

// Requires the lock.
unsigned wanted_threads(Pool& state) {
  if (state.wanted == 0) state.wanted = configured_threads();
  return state.wanted;
}

}  // namespace

unsigned thread_count() {
  Pool& state = pool();
  require_same_process(state);
  const std::lock_guard lock(state.mutex);
  return wanted_threads(state);
}

void check_thread_settings() {
  const pid_t started_by = pool().process;
  if (started_by == 0 || started_by == getpid()) static_cast<void>(thread_count());
}

void set_thread_count(int count) {
  if (count < 1 || count > static_cast<int>(kMaxThreads)) {
    throw ValueError("set_threads", "count",
                     text("count is ", count, " but must be from 1 to ", kMaxThreads));
  }
  if (inside_loop) throw ValueError("set_threads", "", "called from inside a parallel loop");
  Pool& state = pool();
  require_same_process(state);
  std::unique_lock lock(state.mutex);
  state.idle.wait(lock, [&] { return !state.resizing; });
  state.resizing = true;
  state.idle.wait(lock, [&] { return state.loops.empty(); });
  state.wanted = static_cast<unsigned>(count);
  state.stopping = true;
  std::vector<std::thread> old = std::move(state.threads);
  state.threads.clear();
  lock.unlock();
  state.work.notify_all();
  for (std::thread& thread : old) thread.join();
  lock.lock();
  state.stopping = false;
  state.resizing = false;
  lock.unlock();
  state.idle.notify_all();
}

std::uint32_t parallel_for(std::uint64_t n, RangeBody body, void* context) {
  if (n == 0) return 0;
  if (inside_loop || n == 1) return body(context, 0, n);
  Pool& state = pool();
  require_same_process(state);
  std::unique_lock lock(state.mutex);
  state.idle.wait(lock, [&] { return !state.resizing; });
  const unsigned count = wanted_threads(state);
  Loop loop{.body = body,
            .context = context,
            .n = n,
            .parts = std::min<std::uint64_t>(n, count * kPartsPerThread),
            .shares = count};
  if (count == 1) {
    lock.unlock();
    loop.parts = 1;
    run_parts(loop, 0);
    return loop.code;
  }
  start_threads(state, count);
  state.loops.push_back(&loop);
  ++state.loops_added;
  lock.unlock();
  state.work.notify_all();
  run_parts(loop, 0);
  lock.lock();
  std::erase(state.loops, &loop);
  lock.unlock();
  spin_until([&] { return loop.workers == 0; });
  lock.lock();
  state.idle.wait(lock, [&] { return loop.workers == 0; });
  const bool last = state.loops.empty();
  lock.unlock();
  if (last) state.idle.notify_all();
  return loop.code;
}

}  // namespace kiln::runtime
