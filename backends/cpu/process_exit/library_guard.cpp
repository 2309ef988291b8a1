// The handler is registered by on_exit: atexit would call the plugin's own __cxa_atexit, which
// registers nothing (no_static_destruction.cpp).
#include "backends/cpu/process_exit/library_guard.h"
#include "core/types/no_destructor.h"

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

/// One of several counts, so that threads rarely write to the same cache line.
struct alignas(64) UserCount {
  std::atomic<int> users{0};
};

struct ExitState {
  std::array<UserCount, 16> counts;
  std::atomic<bool> has_begun{false};
  std::mutex mutex;
  std::set<std::string> first_uses;
  pid_t process = getpid();
};

ExitState& exit_state() {
  static NoDestructor<ExitState> instance;
  return *instance;
}

unsigned slot_of_thread() noexcept {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned slot = next.fetch_add(1, std::memory_order_relaxed) % 16;
  return slot;
}

bool is_used(const ExitState& state) {
  for (const UserCount& count : state.counts) {
    if (count.users != 0) return true;
  }
  return false;
}

/// Waits for users. A matmul takes milliseconds; the limit is for a thread that never leaves, such
/// as one that a signal interrupted to end the process. A forked child does not wait: the counted
/// threads exist only in its parent.
void wait_for_users(int, void*) {
  using Clock = std::chrono::steady_clock;
  ExitState& state = exit_state();
  state.has_begun = true;
  if (state.process != getpid()) return;
  const auto last = Clock::now() + std::chrono::seconds(2);
  while (is_used(state) && Clock::now() < last) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

LibraryGuard::LibraryGuard() : slot_(slot_of_thread()) {
  exit_state().counts[slot_].users.fetch_add(1);
  allowed_ = !exit_state().has_begun;
}

LibraryGuard::~LibraryGuard() {
  exit_state().counts[slot_].users.fetch_sub(1, std::memory_order_release);
}

void guard_exit_after(const std::string& first_use) {
  ExitState& state = exit_state();
  const std::lock_guard lock(state.mutex);
  if (state.first_uses.insert(first_use).second) on_exit(wait_for_users, nullptr);
}

}  // namespace kiln::cpu
