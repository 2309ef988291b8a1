// Tests the reference backend after fork(). It has no threads, so the child may go on using it; the
// parent sees none of the child's updates. tests/process/hosts tests that cpu rejects a child.
#include "tests/support/catch.h"
#include "tests/support/child.h"

#include <kiln/k.h>

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
