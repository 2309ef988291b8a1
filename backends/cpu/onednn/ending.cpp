// Handlers of the process's end run in the reverse order of their registration, so one of ours is
// registered after everything that may have made the library register one of its own. By on_exit,
// as atexit would go through the plugin's own __cxa_atexit, which declines: see no_teardown.cpp.
#include "backends/cpu/onednn/ending.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

namespace kiln::cpu {
namespace {

/// Threads count themselves in places of their own, for speed.
struct alignas(64) Place {
  std::atomic<int> users{0};
};

struct Gate {
  std::array<Place, 16> places;
  std::atomic<bool> ended{false};
  std::mutex mutex;
  std::set<std::string> done;
  pid_t process = getpid();
};

/// Never destroyed.
Gate& gate() {
  static Gate& instance = *new Gate;
  return instance;
}

unsigned place_of_thread() noexcept {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned place = next.fetch_add(1, std::memory_order_relaxed) % 16;
  return place;
}

bool is_used(const Gate& state) {
  for (const Place& place : state.places) {
    if (place.users != 0) return true;
  }
  return false;
}

/// A product takes milliseconds; a thread that stays longer (the one that was interrupted to end
/// the process) is not waited for. A forked child has none of the threads that were counted.
void end(int, void*) {
  using Clock = std::chrono::steady_clock;
  Gate& state = gate();
  state.ended = true;
  if (state.process != getpid()) return;
  const auto last = Clock::now() + std::chrono::seconds(2);
  while (is_used(state) && Clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

LibraryUse::LibraryUse() : place_(place_of_thread()) {
  gate().places[place_].users.fetch_add(1);
  allowed_ = !gate().ended;
}

LibraryUse::~LibraryUse() { gate().places[place_].users.fetch_sub(1, std::memory_order_release); }

void library_has_done(const std::string& what) {
  Gate& state = gate();
  const std::lock_guard lock(state.mutex);
  if (state.done.insert(what).second) on_exit(end, nullptr);
}

}  // namespace kiln::cpu
