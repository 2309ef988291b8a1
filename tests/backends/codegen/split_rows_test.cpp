// Tests reductions whose inner points are divided among blocks: by the text and by the interpreter
// of schedules, for any order of the blocks.
#include "tests/support/catch.h"
#include "tests/backends/codegen/combiner_kernels.h"
#include "tests/backends/codegen/grid_emulation.h"

#include "backends/codegen/grid/split_rows.h"
#include "core/ops/convert.h"
#include "core/types/text.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

std::int64_t known(const ir::Dim& dim) { return dim.value(); }

GridLaunch launch_on(const GridDescription& device, const Kernel& kernel) {
  return launch_of(kernel, schedule_grid(kernel, device), device, known);
}

/// Floats with fractions, whose sums round.
Floats drawn(std::int64_t count, unsigned seed = 1) {
  Floats list;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    list.push_back(static_cast<float>(seed >> 8) / (1 << 20) - 8);
  }
  return list;
}

/// Drawn elements of a dtype; floats are positive, so that sums have small relative errors.
Memory drawn(DType dtype, std::int64_t count) {
  Memory result;
  for (const float value : drawn(count)) {
    const double element = is_float(dtype) ? value + 8 : std::floor(value);
    const auto bytes = ir::scalar_bytes(dtype, dtype == DType::Bool ? value > 7 : element);
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

KernelCall call_of(const Kernel& kernel, std::int64_t outer, std::int64_t inner) {
  return call_of_combiners(kernel, drawn(kernel.operands.front().dtype, outer * inner), outer);
}

KernelOutcome run_both_ways(const Kernel& kernel, const KernelCall& call) {
  INFO(print(kernel));
  KernelOutcome interpreted = run_interpreted(kernel, call);
  run_as_grids(kernel, call, interpreted);
  return interpreted;
}

/// y = sum of each row of x, or of each column.
Kernel sums_of(std::int64_t outer, const ir::Dim& inner, bool is_columns) {
  KernelMaker k("sums", {outer, inner}, 1);
  const OperandId in = k.input(kF32);
  const ExpressionId x = k.load(is_columns ? k.access(in, {1, outer}) : k.access(in, {inner, 1}));
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(k.reduce(Combiner::Sum, x))}}, false);
  return k.kernel;
}

/// The sizes of a kernel where its one symbol has a value.
std::vector<std::int64_t> sizes_of(const Kernel& kernel, std::int64_t value) {
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : kernel.sizes) {
    sizes.push_back(
        ir::evaluate(dim, [&](const ir::Symbol&) { return std::optional<std::int64_t>(value); }));
  }
  return sizes;
}

}  // namespace

TEST_CASE("divided rows: rows and columns of every dtype") {
  GridCases cases;
  for (const bool is_columns : {false, true}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int8, DType::UInt16,
                              DType::Int32, DType::Int64, DType::Bool}) {
      const Kernel kernel = every_combiner(dtype, 3, 1001, is_columns);
      CHECK(launch_on(kManyBlocks, kernel).parts > 4);
      CHECK(launch_on(kManyPairs, kernel).parts >= 4);
      cases.add(kernel, call_of(kernel, 3, 1001));
    }
  }
  cases.run();
}

TEST_CASE("divided rows: the sizes of a call decide how many blocks divide a row") {
  const ir::Dim n = ir::Dim::fresh("n");
  GridCases cases;
  for (const bool is_columns : {false, true}) {
    const Kernel kernel = every_combiner(kF32, 2, n, is_columns);
    CHECK(schedule_grid(kernel, kManyBlocks).split_k);
    for (const std::int64_t size : {0, 1, 100, 257, 4000}) {
      KernelCall call = call_of(kernel, 2, size);
      call.sizes = sizes_of(kernel, size);
      cases.add(kernel, call);
    }
  }
  cases.run();
}

TEST_CASE("divided rows: later stages read what all blocks wrote") {
  // z = x - 1 at every point; then, once, sum of x * (last z + first z of the row).
  const std::int64_t columns = 700;
  KernelMaker k("written", {3, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
  const OperandId z = k.output(kF32, true);
  const ExpressionId less = k.apply(Op::Sub, {x, k.number(kF32, 1)});
  const StageId sum = k.reduce(Combiner::Sum, x, {{k.access(z, {columns, 1}), less}});
  const ExpressionId last = k.load(k.access(z, {columns, 0}, columns + -1));
  const ExpressionId first = k.load(k.access(z, {columns, 0}));
  const ExpressionId all = k.apply(Op::Mul, {k.result(sum), k.apply(Op::Add, {last, first})});
  k.map({{k.access(k.output(kF32), {1, 0}), all}}, false);
  CHECK(launch_on(kManyBlocks, k.kernel).parts > 4);
  run_both_ways(k.kernel, {{drawn(kF32, 2100), zeros(kF32, 2100), zeros(kF32, 3)}, {}, 0, 3});
}

TEST_CASE("divided rows: an earlier stage runs once") {
  KernelMaker k("counted", {2, 900}, 1);
  const AccessId counts = k.access(k.output(kF32, true), {1, 0});
  k.map({{counts, k.apply(Op::Add, {k.load(counts), k.number(kF32, 1)})}}, false);
  const StageId most = k.reduce(Combiner::Max, k.load(k.access(k.input(kF32), {900, 1})));
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(most)}}, false);
  CHECK(launch_on(kManyBlocks, k.kernel).parts > 4);
  const KernelOutcome outcome =
      run_both_ways(k.kernel, {{zeros(kF32, 2), drawn(kF32, 1800), zeros(kF32, 2)}, {}, 0, 2});
  CHECK(elements<float>(outcome.operands[0]) == Floats{1, 1});
}

TEST_CASE("divided rows: arg_max is the index in the first part that has the largest value") {
  KernelMaker k("arg_max", {3, 640}, 1);
  const StageId arg_max = k.reduce(Combiner::ArgMax, k.load(k.access(k.input(kF32), {640, 1})));
  k.map({{k.access(k.output(DType::Int64), {1, 0}), k.result(arg_max)}}, false);
  Floats x(1920, -std::numeric_limits<float>::infinity());
  x[639] = x[500] = x[130] = 2;                                            // row 0
  x[640 + 600] = x[640 + 20] = std::numeric_limits<float>::quiet_NaN();    // row 1
  const KernelCall call{{memory(x), memory(Longs(3, 9))}, {}, 0, 3};       // row 2: all equal
  CHECK(elements<std::int64_t>(run_both_ways(k.kernel, call).operands[1]) == Longs{130, 20, 0});
}

TEST_CASE("divided rows: the index out of range is that of the first point") {
  KernelMaker k("gathers", {2, 800}, 1);
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {800, 1}));
  const ExpressionId x = k.load(k.access_at(k.input(kF32), {0, 0}, at, 1, 3));
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(k.reduce(Combiner::Sum, x))}}, false);
  std::vector<std::int32_t> indices(1600, 1);
  indices[799] = 9, indices[333] = -4, indices[900] = 5;
  CHECK(launch_on(kManyBlocks, k.kernel).parts > 4);
  const KernelCall call{{memory(indices), memory(Floats{1, 2, 3}), zeros(kF32, 2)}, {}, 0, 2};
  CHECK(run_both_ways(k.kernel, call).out_of_range.index == -4);
}

TEST_CASE("divided rows: no division for results, ordered stores or additions at every point") {
  const ir::Dim n = 1 << 20;
  const auto maker = [&] { return KernelMaker("kernel", {2, n}, 1); };
  const auto input = [&](KernelMaker& k) { return k.load(k.access(k.input(kF32), {n, 1})); };
  {
    KernelMaker k = maker();
    const ExpressionId x = input(k), most = k.result(k.reduce(Combiner::Max, x));
    k.reduce(Combiner::Sum, k.apply(Op::Sub, {x, most}));
    CHECK(split_reason(k.kernel) == "a stage needs a result at every point");
  }
  {
    KernelMaker k = maker();
    const ExpressionId x = input(k);
    const OperandId y = k.output(kF32, true);
    k.reduce(Combiner::Max, x, {{k.access(y, {n, 1}), x}});
    k.reduce(Combiner::Sum, k.load(k.access(y, {n, -1}, n + -1)));
    CHECK(split_reason(k.kernel) == "a stage needs memory of other lanes");
  }
  {
    KernelMaker k = maker();
    const ExpressionId x = input(k);
    k.reduce(Combiner::Sum, x);
    k.map({{k.access(k.output(kF32, true), {n, 1}), x, /*accumulate=*/true}});
    CHECK(split_reason(k.kernel) == "additions to memory");
  }
  {
    KernelMaker k = maker();
    const ExpressionId x = input(k);
    k.map({{k.access(k.output(kF32), {n, 1}), x}});
    CHECK(split_reason(k.kernel) == "nothing is reduced");
  }
}

TEST_CASE("divided rows: parts fill the device and leave each lane enough points") {
  const GridDescription device;
  const struct {
    std::int64_t outer, inner;
    bool is_columns;
    std::int64_t parts, part_points, blocks;
  } rows[] = {
      {1, 1 << 14, false, 4, 1 << 12, 4},
      {1, 1 << 20, false, 256, 1 << 12, 256},
      {1, 8 << 20, false, 1024, 1 << 13, 1024},
      {3, 1 << 20, false, 256, 1 << 12, 768},
      {200, 1 << 20, false, 5, 209920, 1000},
      {300, 1 << 20, false, 1, 1, 264},      // rows enough for the device
      {1, (1 << 14) - 1, false, 1, 1, 1},    // parts would be short
      {2, 1000003, true, 782, 1280, 782},
      {32, 1000003, true, 128, 7840, 128},   // at most 16 for each lane to combine
      {4096, 4096, true, 8, 512, 1024},
  };
  for (const auto& row : rows) {
    INFO(row.outer << ", " << row.inner);
    const GridLaunch launch = launch_on(device, sums_of(row.outer, row.inner, row.is_columns));
    CHECK(launch.parts == row.parts);
    CHECK(launch.part_points == row.part_points);
    CHECK(launch.blocks == row.blocks);
    CHECK((launch.arrivals > 0) == (row.parts > 1));
    CHECK((launch.partial_bytes > 0) == (row.parts > 1));
  }
}

TEST_CASE("divided rows: long sums of float32 have small errors", "[slow]") {
  const struct {
    std::int64_t outer, inner;
    bool is_columns, is_constant;
    GridDescription device;
  } rows[] = {
      {1, 8 << 20, false, true, {}},
      {1, 8 << 20, false, false, {}},
      {2, 1000003, true, true, {}},
      {2, 1000003, true, false, {}},
      // One block for each row, one team for each column.
      {1, 4 << 20, false, true, {.multiprocessors = 1, .resident_threads = 256}},
      {2, 1000003, true, true, {.multiprocessors = 1, .resident_threads = 256}},
  };
  for (const auto& row : rows) {
    const Kernel kernel = sums_of(row.outer, row.inner, row.is_columns);
    INFO(print(kernel) << print(schedule_grid(kernel, row.device)));
    Floats x(static_cast<std::size_t>(row.outer * row.inner), 0.1f);
    if (!row.is_constant) {
      x = drawn(row.outer * row.inner);
      for (float& one : x) one += 8;  // from 0 to 16
    }
    const KernelCall call{{memory(x), zeros(kF32, row.outer)}, {}, 0, row.outer};
    const KernelOutcome outcome =
        run_as_parsed_grid(kernel, call, ThreadOrder::Ascending, {}, row.device);
    const Floats sums = elements<float>(outcome.operands[1]);
    for (std::int64_t i = 0; i < row.outer; ++i) {
      double exact = 0;
      for (std::int64_t j = 0; j < row.inner; ++j) {
        const std::int64_t offset = row.is_columns ? j * row.outer + i : i * row.inner + j;
        exact += double{x[static_cast<std::size_t>(offset)]};
      }
      const double error = std::abs(sums[static_cast<std::size_t>(i)] - exact) / exact;
      INFO("relative error " << error);
      CHECK(error < 4e-6);
    }
  }
}
