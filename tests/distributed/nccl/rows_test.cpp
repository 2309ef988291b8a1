// Collectives on the device have the bits of plain loops, and gradients those of the joint loss.
#include "tests/distributed/collectives/failing_calls.h"
#include "tests/distributed/collectives/gradient_rows.h"
#include "tests/distributed/collectives/op_rows.h"
#include "tests/distributed/nccl/device_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"

namespace kiln::testing {
namespace {

TEST_CASE("nccl: all rows with 2, 3 and 4 ranks") {
  use_one_device();
  for (const std::uint32_t ranks : {2u, 3u, 4u}) {
    CHECK(run_op_rows({.ranks = ranks, .seed = ranks}, kCuda) == "");
  }
}

TEST_CASE("nccl: all rows through host memory") {
  use_one_device();
  const EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
  CHECK(run_op_rows({.ranks = 2, .seed = 1}, kCuda) == "");
}

TEST_CASE("nccl: gradients are those of the sum of all ranks' losses") {
  use_one_device();
  CHECK(run_gradient_rows({.ranks = 3, .seed = 1}, kCuda) == "");
}

TEST_CASE("nccl: an index out of range on one rank") {
  use_one_device();
  CHECK(run_failing_indices({.ranks = 3, .seed = 1}, kCuda) == "");
  const EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
  CHECK(run_failing_indices({.ranks = 2, .seed = 1}, kCuda) == "");
}

}  // namespace
}  // namespace kiln::testing
