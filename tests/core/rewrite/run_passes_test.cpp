// Tests run_passes.h with passes that fail.
#include "tests/support/catch.h"

#include <kiln/error.h>

#include "core/rewrite/run_passes.h"

#include <array>
#include <new>
#include <stdexcept>

namespace kiln::rewrite {
namespace {

struct FailingPass {
  const char* name;
  void (*fail)();
};

void run(void (*fail)()) {
  const std::array<FailingPass, 1> list{{{"reorder", fail}}};
  const auto apply = [](const FailingPass& pass) {
    pass.fail();
    return true;
  };
  const auto ignore = [](const auto&...) {};
  run_passes(list, {}, apply, ignore, ignore);
}

}  // namespace

TEST_CASE("run_passes: an assumption that does not hold is an InternalError of the pass") {
  CHECK_THROWS_WITH(run([] { throw std::out_of_range("at"); }),
                    Catch::Matchers::EndsWith("pass reorder failed: at; please report this"));
  CHECK_THROWS_AS(run([] { throw std::out_of_range("at"); }), InternalError);
}

TEST_CASE("run_passes: lack of memory and errors of Kiln keep their type") {
  CHECK_THROWS_AS(run([] { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_AS(run([] { throw std::length_error("size"); }), std::length_error);
  CHECK_THROWS_AS(run([] { throw ValueError("f", "x", "bad"); }), ValueError);
}

}  // namespace kiln::rewrite
