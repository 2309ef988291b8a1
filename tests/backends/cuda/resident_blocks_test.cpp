// Tests the number of blocks of kernels that fit the device less often than their threads would.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/grid/shape_kernel.h"
#include "backends/codegen/pipeline.h"
#include "backends/cuda/execute/launch_kernel.h"
#include "core/ops/build.h"

using namespace kiln;
using namespace kiln::codegen;

namespace {

constexpr GridDescription kDevice;

/// The kernel of the sums of the rows.
Kernel row_sums(std::int64_t rows, std::int64_t columns) {
  const ir::Value x = test::placeholder({DType::Float32, {rows, columns}});
  Compilation lowering;
  lowering.arguments = {x};
  lowering.results = {ir::reduce_sum(x, {1})};
  lowering.target = target_of(kDevice);
  lowering.loop_transform = shape_for_grid;
  run_pipeline(lowering);
  return lowering.program.kernels.front().kernel;
}

GridLaunch launch_with(const Kernel& kernel, std::int64_t resident_blocks) {
  const cuda::LoadedKernel loaded{schedule_grid(kernel, kDevice), nullptr, resident_blocks};
  const EvaluateDim evaluate = [](const ir::Dim& dim) { return dim.value(); };
  return cuda::bind_kernel(kernel, loaded, kDevice, evaluate).grid;
}

}  // namespace

TEST_CASE("resident blocks: a launch has no more, and parts of sums for each of them") {
  const std::int64_t each = kDevice.multiprocessors;
  const Kernel many = row_sums(65536, 1000), few = row_sums(2, 10'000'000);
  REQUIRE_FALSE(schedule_grid(many, kDevice).split_k);
  CHECK(launch_with(many, 12 * each).blocks == 12 * each);
  CHECK(launch_with(many, 1 << 20).blocks == 16 * each);
  REQUIRE(schedule_grid(few, kDevice).split_k);
  for (const std::int64_t blocks : {1, 4, 8}) {
    const GridLaunch launch = launch_with(few, blocks * each);
    INFO(blocks);
    CHECK(launch.blocks == 2 * launch.parts);
    CHECK(launch.parts <= blocks * each / 2);
    CHECK(launch.parts * 21 > blocks * each / 2 * 20);  // whole rounds of accumulators
    CHECK(launch.part_points * launch.parts >= 10'000'000);
  }
  // 132 blocks are too few for parts of 60 rows, 16 on each multiprocessor are not.
  const Kernel some = row_sums(60, 1'000'000);
  CHECK(launch_with(some, each).parts == launch_with(some, 16 * each).parts);
  CHECK(launch_with(some, each).parts > 16);
  // Less than a block on each multiprocessor counts as one.
  CHECK(launch_with(few, 0).parts == launch_with(few, each).parts);
}
