// Tests the reference backend after fork(). It has no threads, so the child may go on using it; the
// parent sees none of the child's updates. tests/process/hosts tests that cpu rejects a child, and
// children of a process whose threads are in each entry point.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include <kiln/k.h>

#include <atomic>
#include <string_view>
#include <thread>

using namespace kiln;

namespace {

/// Adds the sum of its input to a total.
struct Counter {
  Counter() : total(variable(Array(1.f), {.name = "total"})) {
    const Tensor x = placeholder({.shape = {None}, .name = "x"});
    add = function({x}, {total + sum(x)},
                   {.updates = {update_add(total, sum(x))}, .backend = "reference"});
  }

  float step() { return add({Array{2.f, 3.f}})[0].item<float>(); }
  float now() const { return get_value(total).item<float>(); }

  Variable total;
  Function add;
};

}  // namespace

TEST_CASE("reference backend: a forked child calls its parent's function and makes another") {
  Counter counter;
  REQUIRE(counter.step() == 6.f);
  CHECK(kiln::testing::in_child([&] {
          if (counter.step() != 11.f) return 1;
          if (counter.now() != 11.f) return 2;
          Counter own_counter;
          if (own_counter.step() != 6.f) return 3;
          return own_counter.now() == 6.f ? 0 : 4;
        }) == 0);
  CHECK(counter.now() == 6.f);
  CHECK(counter.step() == 11.f);
}

TEST_CASE("reference backend: a child forked during another thread's call writes its variables") {
  const Variable total = variable(Array(1.f), {.name = "total"});
  const Tensor x = placeholder({.shape = {}, .name = "x"});
  const Function add =
      function({x}, {print_tensor(x)}, {.updates = {update_add(total, x)}, .backend = "reference"});
  std::atomic<bool> has_arrived{false}, may_leave{false};
  set_print_sink([&](std::string_view) {
    has_arrived = true;
    has_arrived.notify_one();
    may_leave.wait(false);
  });
  std::thread other([&] { add({Array(2.f)}); });
  has_arrived.wait(false);
  CHECK(kiln::testing::in_child([&] {
          set_print_sink([](std::string_view) {});
          if (get_value(total).item<float>() != 1.f) return 1;
          add({Array(4.f)});
          if (get_value(total).item<float>() != 5.f) return 2;
          set_value(total, Array(7.f));
          return get_value(total).item<float>() == 7.f && add.stats().calls == 1 ? 0 : 3;
        }) == 0);
  may_leave = true;
  may_leave.notify_one();
  other.join();
  set_print_sink({});
  CHECK(get_value(total).item<float>() == 3.f);
}
