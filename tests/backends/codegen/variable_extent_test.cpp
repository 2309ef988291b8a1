// Tests kernels that share a function over tensors of different sizes, and rows of its table.
#include "tests/support/catch.h"
#include "tests/backends/codegen/point_checks.h"

#include "backends/codegen/kernel/kernel_key.h"
#include "backends/codegen/kernel/variable_extent.h"
#include "backends/codegen/plan/gather_equal_kernels.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

/// y = x * factor + bias over the axes, whose strides are those of a dense tensor of `columns`.
Kernel scaled(std::vector<ir::Dim> axes, double factor = 3) {
  KernelMaker k("scaled", std::move(axes), 0);
  k.kernel.outer = static_cast<int>(k.kernel.axes.size());
  std::vector<ir::Dim> dense{1}, same{0};
  if (k.kernel.outer == 2) dense = {8, 1}, same = {0, 0};
  const ExpressionId x = k.load(k.access(k.input(kF32), dense));
  const ExpressionId bias = k.load(k.access(k.input(kF32), same));
  const ExpressionId by = k.apply(Op::Mul, {x, k.number(kF32, factor)});
  k.map({{k.access(k.output(kF32), dense), k.apply(Op::Add, {by, bias})}});
  return k.kernel;
}

Kernel gathered() {
  KernelMaker k("gathered", {4}, 1);
  const ExpressionId index = k.load(k.access(k.input(DType::Int64), {1}));
  const ExpressionId x = k.load(k.access_at(k.input(kF32), {0}, index, 1, 9));
  k.map({{k.access(k.output(kF32), {1}), x}});
  return k.kernel;
}

}  // namespace

TEST_CASE("variable extents: kernels that differ in the size of their axis have one key") {
  const ir::Dim n = ir::Dim::fresh("n");
  CHECK(key_of(scaled({7})) != key_of(scaled({9})));
  CHECK(batch_key(scaled({7})) == batch_key(scaled({9})));
  CHECK(batch_key(scaled({7})) != batch_key(scaled({9}, 2)));
  CHECK(key_of(*with_variable_extent(scaled({7}))) == batch_key(scaled({9})));
  CHECK_FALSE(with_variable_extent(scaled({n})));
  CHECK_FALSE(with_variable_extent(scaled({4, 8})));
  CHECK_FALSE(with_variable_extent(gathered()));
  CHECK(batch_key(scaled({4, 8})) != batch_key(scaled({5, 8})));
}

TEST_CASE("variable extents: every row of a table computes what a launch of its own does") {
  for (const int rows : {2, 3, 5, 56}) {
    for (const std::int64_t count : {1, 3, 64, 203}) {
      INFO(rows << " rows, " << count << " points");
      const Kernel kernel = *with_variable_extent(scaled({count}));
      const KernelCall call{
          {numbers(kF32, count), numbers(kF32, 1, 5), numbers(kF32, count, 2)}, {count}, 0, count};
      const KernelOutcome expected = run_interpreted(kernel, call);
      for (const ThreadOrder order : kThreadOrders) {
        for (const std::int64_t shift : {0, 1}) {
          const GridStep step{.shifts = {shift}, .rows = rows};
          check_equal(run_as_grid({kernel}, {call}, order, step, kTwoWarps)[0], expected);
        }
      }
    }
  }
}
