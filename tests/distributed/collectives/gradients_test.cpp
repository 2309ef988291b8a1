// K::gradients through every collective are those of the sum of all ranks' losses.
#include "tests/distributed/collectives/gradient_rows.h"
#include "tests/support/catch.h"

namespace kiln::testing {
namespace {

TEST_CASE("collectives: gradients are those of the sum of all ranks' losses") {
  CHECK(run_gradient_rows({.ranks = 2, .seed = 1}, kBackends) == "");
  CHECK(run_gradient_rows({.ranks = 3, .seed = 2}, kBackends) == "");
}

}  // namespace
}  // namespace kiln::testing
