// Collectives on the device have the bits of plain loops, and gradients are those of the joint
// loss. The tag [device] is for tests that run on a real device, too.
#include "tests/distributed/collectives/failing_calls.h"
#include "tests/distributed/collectives/gradient_rows.h"
#include "tests/distributed/collectives/op_rows.h"
#include "tests/distributed/nccl/device_ranks.h"
#include "tests/support/catch.h"
#include "tests/support/environment.h"

#include <iostream>

namespace kiln::testing {
namespace {

TEST_CASE("nccl: all rows on 2 to 4 ranks", "[device]") {
  use_one_device();
  for (const std::uint32_t ranks : {2u, 3u, 4u}) {
    CHECK(run_op_rows({.ranks = ranks, .seed = ranks}, kCuda) == "");
  }
}

// Of tools/gpu_test, before all others: prints the reason if NCCL does not take part.
TEST_CASE("nccl: two ranks share the device", "[.shares-device]") {
  use_one_device();
  const std::string ends = run_sessions({.ranks = 2}, [](const distributed::Group&) {
    const auto x = placeholder({.shape = {1}});
    return thrown_by(
        [&] { function({x}, {distributed::all_reduce(x)}, {.backend = "cuda"})({Array{1.f}}); });
  });
  for (const char* reason : {"collectives on cuda need NCCL", "cannot join the ranks"}) {
    if (ends.find(reason) == std::string::npos) continue;
    std::cout << "NCCL rejects: " << ends.substr(0, ends.find('\n')) << std::endl;
  }
  CHECK(ends == "rank 0: 0 \"no error\"\nrank 1: 0 \"no error\"\n");
}

TEST_CASE("nccl: all rows through host memory", "[device]") {
  use_one_device();
  const EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
  CHECK(run_op_rows({.ranks = 2, .seed = 1}, kCuda) == "");
}

TEST_CASE("nccl: gradients are those of the sum of all ranks' losses", "[device]") {
  use_one_device();
  CHECK(run_gradient_rows({.ranks = 3, .seed = 1}, kCuda) == "");
}

TEST_CASE("nccl: NaN where numbers are checked, on one rank", "[device]") {
  use_one_device();
  CHECK(run_failing_checks({.ranks = 3, .seed = 3}, kCuda) == "");
}

TEST_CASE("nccl: an index out of range on one rank", "[device]") {
  use_one_device();
  CHECK(run_failing_indices({.ranks = 3, .seed = 1}, kCuda) == "");
  const EnvironmentVariable host("KILN_CUDA_COLLECTIVES", "host");
  CHECK(run_failing_indices({.ranks = 2, .seed = 1}, kCuda) == "");
}

}  // namespace
}  // namespace kiln::testing
