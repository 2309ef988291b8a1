// A list of running loops that idle threads join. A loop lives on its caller's stack; the caller
// takes it off the list and then waits until no thread is inside it. Everything is allocated once
// and never freed, so that nothing runs while the process ends.
// Each thread begins with a share of its own, the same one in every loop, so that it finds in its
// caches what it wrote and read in the last; who has finished takes from the ends of the others'.
#include "runtime/host/thread_pool.h"

#include <kiln/error.h>

#include "core/types/float_state.h"
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
/// Looks at a shared word this often before going to sleep: some 50 microseconds, which is longer
/// than what lies between two loops of one call, and far shorter than waking a thread twice.
constexpr int kSpins = 2000;

struct Loop {
  RangeBody body;
  void* context;
  std::uint64_t n;
  std::uint64_t parts;
  std::uint64_t shares;                 // one for each thread
  std::atomic<std::uint64_t> taken{0};  // how many parts
  std::array<std::atomic<std::uint64_t>, kMaxThreads * kPartsPerThread / 64> is_taken{};
  std::atomic<std::uint32_t> code{0};
  std::atomic<unsigned> guests{0};  // threads of the pool inside; they come in under the lock
};

struct Pool {
  std::mutex mutex;
  std::condition_variable work;  // a loop was added, or the threads are to stop
  std::condition_variable left;  // a guest left a loop
  std::vector<Loop*> loops;
  std::atomic<std::uint64_t> posted{0};  // loops ever added
  std::vector<std::thread> threads;
  bool changing = false;  // the number of threads: no other loop begins until that is done
  bool stopping = false;
  unsigned wanted = 0;  // 0: not asked yet
  std::atomic<pid_t> process{0};  // that started the threads
};

Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

thread_local bool inside_loop = false;

// part p of [0, n), without overflow: the first n % parts ranges are one longer.
std::uint64_t part_begin(const Loop& loop, std::uint64_t part) {
  const std::uint64_t extra = std::min(part, loop.n % loop.parts);
  return loop.n / loop.parts * part + extra;
}

bool take(Loop& loop, std::uint64_t part) {
  std::atomic<std::uint64_t>& word = loop.is_taken[part / 64];
  const std::uint64_t bit = std::uint64_t{1} << part % 64;
  if (word.load(std::memory_order_relaxed) & bit) return false;
  if (word.fetch_or(bit, std::memory_order_relaxed) & bit) return false;
  loop.taken.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void run_part(Loop& loop, std::uint64_t part) {
  const std::uint32_t code =
      loop.body(loop.context, part_begin(loop, part), part_begin(loop, part + 1));
  std::uint32_t none = 0;
  if (code != 0) loop.code.compare_exchange_strong(none, code);
}

/// The share of that thread, in order, then the other parts from behind it, downwards.
void run_parts(Loop& loop, unsigned thread) {
  inside_loop = true;
  const std::uint64_t parts = loop.parts, share = thread % loop.shares;
  const std::uint64_t first = share * parts / loop.shares;
  const std::uint64_t own = (share + 1) * parts / loop.shares - first;
  for (std::uint64_t i = 0; i < parts && loop.taken.load(std::memory_order_relaxed) < parts; ++i) {
    const std::uint64_t part = i < own ? first + i : (first + parts - 1 - (i - own)) % parts;
    if (loop.code.load(std::memory_order_relaxed) != 0) break;
    if (take(loop, part)) run_part(loop, part);
  }
  inside_loop = false;
}

// A loop that still has parts to give away. Requires the lock.
Loop* open_loop(Pool& state) {
  for (Loop* loop : state.loops) {
    if (loop->code == 0 && loop->taken < loop->parts) return loop;
  }
  return nullptr;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits a little for `done`; whether it came.
template <class Done>
bool spin_until(const Done& done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    pause();
  }
  return false;
}

// The loop is not touched after its last guest has left.
void leave(Pool& state, Loop& loop) {
  if (loop.guests.fetch_sub(1) != 1) return;
  { const std::lock_guard lock(state.mutex); }
  state.left.notify_all();
}

/// Until a loop is added. A thread that wakes up too late for the loop it was woken for looks out
/// for the next one like any other: where short loops follow each other it would come too late
/// for ever otherwise.
void await_loop(Pool& state, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t seen = state.posted;
  lock.unlock();
  spin_until([&] { return state.posted != seen; });
  lock.lock();
  state.work.wait(lock, [&] { return state.stopping || state.posted != seen; });
}

void serve(unsigned thread) {
  const UsualFloatState usual;  // not that of the thread that happened to start this one
  Pool& state = pool();
  std::unique_lock lock(state.mutex);
  while (!state.stopping) {
    Loop* loop = open_loop(state);
    if (loop == nullptr) {
      await_loop(state, lock);
      continue;
    }
    ++loop->guests;
    lock.unlock();
    run_parts(*loop, thread);
    leave(state, *loop);
    lock.lock();
  }
}

// Requires the lock. Fewer threads than wished for are a slower pool, not an error.
void start_threads(Pool& state, unsigned count) {
  state.process = getpid();
  try {
    while (state.threads.size() + 1 < count) {
      state.threads.emplace_back(serve, static_cast<unsigned>(state.threads.size() + 1));
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
  const auto [rest, fault] = std::from_chars(given, end, count);
  if (fault != std::errc() || rest != end || count == 0 || count > kMaxThreads) {
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

void set_thread_count(int count) {
  if (count < 1 || count > static_cast<int>(kMaxThreads)) {
    throw ValueError("set_threads", "count",
                     text("count is ", count, " but must be from 1 to ", kMaxThreads));
  }
  if (inside_loop) throw ValueError("set_threads", "", "called from inside a parallel loop");
  Pool& state = pool();
  require_same_process(state);
  std::unique_lock lock(state.mutex);
  state.left.wait(lock, [&] { return !state.changing; });
  state.changing = true;
  state.left.wait(lock, [&] { return state.loops.empty(); });
  state.wanted = static_cast<unsigned>(count);
  state.stopping = true;
  std::vector<std::thread> old = std::move(state.threads);
  state.threads.clear();
  lock.unlock();
  state.work.notify_all();
  for (std::thread& thread : old) thread.join();
  lock.lock();
  state.stopping = false;
  state.changing = false;
  lock.unlock();
  state.left.notify_all();
}

std::uint32_t parallel_for(std::uint64_t n, RangeBody body, void* context) {
  if (n == 0) return 0;
  if (inside_loop || n == 1) return body(context, 0, n);
  Pool& state = pool();
  require_same_process(state);
  std::unique_lock lock(state.mutex);
  state.left.wait(lock, [&] { return !state.changing; });
  const unsigned count = wanted_threads(state);
  Loop loop{body, context, n, std::min<std::uint64_t>(n, count * kPartsPerThread), count};
  if (count == 1) {
    lock.unlock();
    loop.parts = 1;
    run_parts(loop, 0);
    return loop.code;
  }
  start_threads(state, count);
  state.loops.push_back(&loop);
  ++state.posted;
  lock.unlock();
  state.work.notify_all();
  run_parts(loop, 0);
  lock.lock();
  std::erase(state.loops, &loop);
  lock.unlock();
  spin_until([&] { return loop.guests == 0; });
  lock.lock();
  state.left.wait(lock, [&] { return loop.guests == 0; });
  const bool last = state.loops.empty();
  lock.unlock();
  if (last) state.left.notify_all();
  return loop.code;
}

}  // namespace kiln::runtime
