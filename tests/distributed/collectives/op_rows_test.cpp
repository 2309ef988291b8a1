// Every kind of collective, dtype, number of ranks and size has the bits of expected_results.h, on
// each backend.
#include "tests/distributed/collectives/op_rows.h"
#include "tests/support/catch.h"

namespace kiln::testing {
namespace {

TEST_CASE("collectives: all rows with 1, 2 and 3 ranks") {
  CHECK(run_op_rows({.ranks = 1}, kBackends) == "");
  CHECK(run_op_rows({.ranks = 2, .seed = 1}, kBackends) == "");
  CHECK(run_op_rows({.ranks = 3, .seed = 2}, kBackends) == "");
}

TEST_CASE("collectives: all rows with 4 and 6 ranks, in levels") {
  CHECK(run_op_rows({.ranks = 4, .seed = 3, .ranks_per_host = 2}, kBackends) == "");
  CHECK(run_op_rows({.ranks = 6, .seed = 4, .ranks_per_host = 2}, kBackends) == "");
}

TEST_CASE("collectives: all rows with 8 ranks, in levels") {
  CHECK(run_op_rows({.ranks = 8, .seed = 5, .ranks_per_host = 4}, kBackends) == "");
}

}  // namespace
}  // namespace kiln::testing
