// After fork: the reference backend, which has no threads, goes on in the child, and what happens
// there does not reach the parent. That cpu refuses is tested in tests/hosts.
#include "tests/catch.h"
#include "tests/child.h"

#include <kiln/k.h>

using namespace kiln;

namespace {

/// Adds the sum of what it is fed to a total.
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

TEST_CASE("a function of the reference backend is called, and another made, in a forked child") {
  Counter counter;
  REQUIRE(counter.step() == 6.f);
  CHECK(kiln::testing::in_child([&] {
          if (counter.step() != 11.f) return 1;
          if (counter.now() != 11.f) return 2;
          Counter made;
          if (made.step() != 6.f) return 3;
          return made.now() == 6.f ? 0 : 4;
        }) == 0);
  CHECK(counter.now() == 6.f);
  CHECK(counter.step() == 11.f);
}
