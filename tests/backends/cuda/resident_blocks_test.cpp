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

std::int64_t blocks_of(const Kernel& kernel, std::int64_t resident_blocks) {
  const cuda::LoadedKernel loaded{schedule_grid(kernel, kDevice), nullptr, resident_blocks};
  const EvaluateDim evaluate = [](const ir::Dim& dim) { return dim.value(); };
  return cuda::bind_kernel(kernel, loaded, kDevice, evaluate).grid.blocks;
}

}  // namespace

TEST_CASE("resident blocks: a launch has no more, unless its sums depend on their number") {
  const Kernel many = row_sums(65536, 1000), few = row_sums(2, 10'000'000);
  REQUIRE_FALSE(schedule_grid(many, kDevice).split_k);
  CHECK(blocks_of(many, 1584) == 1584);
  CHECK(blocks_of(many, 1 << 20) == kDevice.multiprocessors * 16);
  REQUIRE(schedule_grid(few, kDevice).split_k);
  CHECK(blocks_of(few, 3) == blocks_of(few, 1 << 20));
}
