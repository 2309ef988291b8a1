// Tests what a child of fork() finds where another thread of its parent held a lock, or constructed
// an object, when it forked.
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

using namespace kiln;

namespace {

/// Runs `action` on another thread, which calls its argument to say that it has arrived and to be
/// held there; meanwhile returns the status of a child that runs `in_child`.
int child_during(const std::function<void(const std::function<void()>&)>& action,
                 const std::function<int()>& in_child) {
  std::atomic<bool> has_arrived{false}, may_leave{false};
  std::thread other([&] {
    action([&] {
      has_arrived = true;
      has_arrived.notify_one();
      may_leave.wait(false);
    });
  });
  has_arrived.wait(false);
  const int status = kiln::testing::in_child(in_child);
  may_leave = true;
  may_leave.notify_one();
  other.join();
  return status;
}

}  // namespace

TEST_CASE("fork: a ForkMutex that another thread of the parent held is unlocked in the child") {
  ForkMutex mutex;
  const auto hold = [&](const std::function<void()>& arrive) {
    const std::lock_guard lock(mutex);
    arrive();
  };
  CHECK(child_during(hold, [&] {
          int sum = 0;
          const auto add = [&] {
            for (int i = 0; i < 10000; ++i) {
              const std::lock_guard lock(mutex);
              ++sum;
            }
          };
          std::thread second(add);
          add();
          second.join();
          return sum == 20000 ? 0 : 1;
        }) == 0);
  const std::lock_guard lock(mutex);  // unlocked in the parent, too
}

TEST_CASE("fork: the child constructs what another thread of the parent was constructing") {
  static constinit OnceConstructed<int> object;
  const auto construct = [&](const std::function<void()>& arrive) {
    object.get([&] {
      arrive();
      return 1;
    });
  };
  const auto make_two = [] { return 2; };
  CHECK(child_during(construct, [&] { return object.get(make_two) == 2 ? 0 : 1; }) == 0);
  CHECK(object.get(make_two) == 1);
}

TEST_CASE("fork: forks are counted in the child") {
  const std::uint32_t before = fork_count();
  CHECK(kiln::testing::in_child([&] { return fork_count() == before + 1 ? 0 : 1; }) == 0);
  CHECK(fork_count() == before);
}
