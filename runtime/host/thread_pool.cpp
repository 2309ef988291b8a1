// A list of running loops that idle threads join. A loop lives on its caller's stack; the caller
// removes it from the list and then waits until no worker is inside. The pool is never destroyed,
// and its threads are not joined at exit.
// Work stealing with static shares: each of the first kMaxShares threads starts with a share of
// its own, the same in every loop, whose data its cache has from the previous loop, and then steals
// from the other shares. Against cache-line contention, each share is aligned to a line, and a
// worker polls for the next loop without the lock if no other loop was running.
#include "runtime/host/thread_pool.h"

#include <kiln/error.h>

#include "core/types/fork.h"
#include "core/types/fp_environment.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"
#include "runtime/host/trace.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

/// At most so many shares: they are on the caller's stack, and a thief visits all of them. Thread i
/// starts with share i % kMaxShares.
constexpr unsigned kMaxShares = 16;
constexpr std::size_t kCacheLine = 64;

/// Consecutive parts of a loop that no thread has claimed yet.
class alignas(kCacheLine) Share {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// REQUIRES: last < 2^32.
  void set(std::uint64_t first, std::uint64_t last) {
    left_.store(last << 32 | first, std::memory_order_relaxed);
  }
  /// Claims the first part; kNone: there is none.
  std::uint64_t take_first() {
    const std::uint64_t left = take(1);
    return left == kNone ? kNone : first_of(left);
  }
  /// Claims the last part; kNone: there is none.
  std::uint64_t take_last() {
    const std::uint64_t left = take(~((std::uint64_t{1} << 32) - 1));
    return left == kNone ? kNone : last_of(left) - 1;
  }

 private:
  static std::uint64_t first_of(std::uint64_t left) { return left & 0xFFFFFFFFu; }
  static std::uint64_t last_of(std::uint64_t left) { return left >> 32; }

  /// Adds `change` unless there are no parts; returns the value before, or kNone.
  std::uint64_t take(std::uint64_t change) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    do {
      if (first_of(left) == last_of(left)) return kNone;
    } while (!left_.compare_exchange_weak(left, left + change, std::memory_order_relaxed));
    return left;
  }

  std::atomic<std::uint64_t> left_{0};  // the first part; in the high half, one past the last part
};

struct Loop {
  Loop(RangeBody function, void* argument, std::uint64_t count, unsigned threads)
      : body(function),
        context(argument),
        n(count),
        parts(threads == 1 ? 1 : std::min<std::uint64_t>(n, threads * kPartsPerThread)),
        share_count(std::min(threads, kMaxShares)),
        function(running_trace() == 0 ? std::string_view() : RunningCall::innermost_name()) {
    for (std::uint64_t i = 0; i < share_count; ++i) {
      shares[i].set(i * parts / share_count, (i + 1) * parts / share_count);
    }
  }

  const RangeBody body;
  void* const context;
  const std::uint64_t n, parts, share_count;
  const std::string_view function;  // that the caller runs, for traces
  std::array<Share, kMaxShares> shares;
  /// A thread found no unclaimed part, or the loop has failed.
  alignas(kCacheLine) std::atomic<bool> exhausted{false};
  std::atomic<std::uint32_t> code{0};
  std::atomic<unsigned> workers{0};  // pool threads in the loop; incremented under the lock
};

struct Pool {
  std::mutex mutex;
  std::condition_variable work;  // a loop was added, or the threads must stop
  std::condition_variable idle;  // no worker is left in a loop, or no loop, or a resize ended
  std::vector<Loop*> loops;
  std::vector<std::thread> threads;
  bool resizing = false;  // set_thread_count is running: no other loop starts
  bool stopping = false;
  unsigned wanted = 0;  // number of threads; 0: not configured yet
  std::atomic<pid_t> process{0};  // that started the threads
  std::atomic<unsigned> sleeping_callers{0};  // in wait_for_workers, beyond its polling
  alignas(kCacheLine) std::atomic<std::uint64_t> loops_added{0};
};

KILN_AT_LOAD NoDestructor<Pool> process_pool;

Pool& pool() { return *process_pool; }

/// Makes the pool of a forked child as new if its parent had started no thread. Otherwise
/// require_same_process() rejects every use of it.
void renew_in_child() {
  Pool& state = pool();
  state.mutex.unlock();
  if (state.process != 0) return;
  std::construct_at(&state.work);
  std::construct_at(&state.idle);
  state.resizing = state.stopping = false;
}

[[maybe_unused]] const bool is_pool_held =
    ::pthread_atfork([] { pool().mutex.lock(); }, [] { pool().mutex.unlock(); }, renew_in_child) ==
    0;

thread_local bool inside_loop = false;

// Returns where a part of [0, n) begins, without overflow: the first n % parts are one longer.
std::uint64_t part_begin(const Loop& loop, std::uint64_t part) {
  const std::uint64_t extra = std::min(part, loop.n % loop.parts);
  return loop.n / loop.parts * part + extra;
}

void run_part(Loop& loop, std::uint64_t part) {
  const std::uint32_t code =
      loop.body(loop.context, part_begin(loop, part), part_begin(loop, part + 1));
  std::uint32_t none = 0;
  if (code != 0) loop.code.compare_exchange_strong(none, code);
}

/// Runs the parts that `take` claims, until it returns Share::kNone or the loop has failed. Returns
/// how many.
template <class Take>
std::uint64_t run_while(Loop& loop, const Take& take) {
  std::uint64_t count = 0;
  while (loop.code.load(std::memory_order_relaxed) == 0) {
    const std::uint64_t part = take();
    if (part == Share::kNone) break;
    run_part(loop, part);
    ++count;
  }
  return count;
}

/// Runs the thread's own share in order, then steals from the ends of the shares before it,
/// cyclically. Returns how many parts it ran.
std::uint64_t run_parts(Loop& loop, unsigned thread) {
  inside_loop = true;
  const std::uint64_t count = loop.share_count, own = thread % count;
  std::uint64_t parts = run_while(loop, [&] { return loop.shares[own].take_first(); });
  for (std::uint64_t i = 1; i < count; ++i) {
    Share& other = loop.shares[(own + count - i) % count];
    parts += run_while(loop, [&] { return other.take_last(); });
  }
  loop.exhausted.store(true, std::memory_order_relaxed);
  inside_loop = false;
  return parts;
}

/// Runs parts on a thread of the pool, as an event of a trace.
void run_on_worker(Loop& loop, unsigned thread) {
  TraceSpan span("pool", "parallel loop");
  const std::uint64_t parts = run_parts(loop, thread);
  if (parts == 0) return span.cancel();
  span.add("function", [&] { return std::string(loop.function); });
  span.add("parts", [&] { return text(parts, " of ", loop.parts); });
}

// Returns a loop with unclaimed parts, or null. Requires the lock.
Loop* open_loop(Pool& state) {
  for (Loop* loop : state.loops) {
    if (loop->code == 0 && !loop->exhausted) return loop;
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
  // Both sides are sequentially consistent (Dekker): either this thread reads sleeping_callers > 0,
  // or the caller, which increments it before it reads `workers`, reads 0 there.
  if (state.sleeping_callers == 0) return;
  // The caller checks the count under the lock. Once the lock was free, a caller that saw the old
  // count is asleep, so that it gets the notification.
  {
    const std::lock_guard lock(state.mutex);
  }
  state.idle.notify_all();
}

/// Returns when no worker is in the loop, polling first.
void wait_for_workers(Pool& state, const Loop& loop) {
  const auto done = [&] { return loop.workers == 0; };
  if (spin_until(done)) return;
  ++state.sleeping_callers;
  {
    std::unique_lock lock(state.mutex);
    state.idle.wait(lock, done);
  }
  --state.sleeping_callers;
}

// Runs loops until the pool stops. Polls before it sleeps, also after it found no loop: a thread
// that woke too late would otherwise be late for every loop of a sequence.
void run_worker(unsigned thread) {
  const ScopedFpEnvironment usual;  // not inherited from the thread that started this one
  char name[16];  // with the zero, Linux' limit; no allocation, which would end the process
  std::snprintf(name, sizeof name, "kiln-%u", thread);
  ::pthread_setname_np(::pthread_self(), name);
  Pool& state = pool();
  std::unique_lock lock(state.mutex);
  while (!state.stopping) {
    Loop* loop = open_loop(state);
    const std::uint64_t seen = state.loops_added;
    const bool may_have_others = loop != nullptr && state.loops.size() > 1;
    if (loop != nullptr) ++loop->workers;
    lock.unlock();
    if (loop != nullptr) {
      run_on_worker(*loop, thread);
      leave(state, *loop);
    }
    if (!may_have_others) spin_until([&] { return state.loops_added != seen; });
    lock.lock();
    if (may_have_others) continue;
    state.work.wait(lock, [&] { return state.stopping || state.loops_added != seen; });
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
    throw ConfigError(
        caller.function, "KILN_THREADS",
        text("KILN_THREADS is '", given, "' but must be a number from 1 to ", kMaxThreads),
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

void set_default_thread_count(unsigned count) {
  const char* given = std::getenv("KILN_THREADS");
  if (given != nullptr && *given != '\0') return;
  Pool& state = pool();
  const std::lock_guard lock(state.mutex);
  if (state.wanted == 0) state.wanted = count;
}

void check_thread_settings() {
  const pid_t started_by = pool().process;
  if (started_by == 0 || started_by == getpid()) static_cast<void>(thread_count());
}

void set_thread_count(std::int64_t count) {
  if (count < 1 || count > static_cast<std::int64_t>(kMaxThreads)) {
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
  Loop loop(body, context, n, count);
  if (count == 1) {
    lock.unlock();
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
  const bool ends_resize_wait = state.resizing && state.loops.empty();
  lock.unlock();
  wait_for_workers(state, loop);
  if (ends_resize_wait) state.idle.notify_all();
  return loop.code;
}

}  // namespace kiln::runtime
