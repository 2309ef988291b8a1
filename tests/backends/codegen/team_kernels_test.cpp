// Tests kernels of rows and columns that teams of threads run: by the text and by the interpreter
// of schedules.
#include "tests/support/catch.h"
#include "tests/backends/codegen/block_fibres.h"
#include "tests/backends/codegen/combiner_kernels.h"
#include "tests/backends/codegen/grid_emulation.h"

#include "backends/codegen/grid/stage_groups.h"
#include "core/ops/convert.h"
#include "core/types/text.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

GridForm form_of(const Kernel& kernel) { return schedule_grid(kernel, kTwoWarps).form; }

KernelOutcome run_both_ways(const Kernel& kernel, const KernelCall& call) {
  INFO(print(kernel));
  KernelOutcome interpreted = run_interpreted(kernel, call);
  run_as_grids(kernel, call, interpreted);
  return interpreted;
}

/// Drawn elements of a dtype; floats have fractions, whose sums round.
Memory drawn(DType dtype, std::int64_t count, unsigned seed = 1) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const double value = static_cast<double>(seed >> 8) / (1 << 20) - 8;
    const double element = is_float(dtype) ? value : std::floor(value);
    values.push_back(dtype == DType::Bool ? value > 7 : element);
  }
  Memory result;
  for (const double value : values) {
    const std::vector<std::byte> bytes = ir::scalar_bytes(dtype, value);
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

KernelCall call_of(const Kernel& kernel, std::int64_t outer, std::int64_t inner) {
  return call_of_combiners(kernel, drawn(kernel.operands.front().dtype, outer * inner), outer);
}

}  // namespace

TEST_CASE("teams: reductions of rows and columns of every dtype") {
  for (const bool is_columns : {false, true}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int8, DType::UInt16,
                              DType::Int32, DType::Int64, DType::Bool}) {
      const Kernel kernel = every_combiner(dtype, 5, 70, is_columns);
      CHECK(form_of(kernel) == (is_columns ? GridForm::Columns : GridForm::Rows));
      run_both_ways(kernel, call_of(kernel, 5, 70));
    }
  }
}

TEST_CASE("teams: reductions of rows of every length, with idle teams in the last block") {
  for (const std::int64_t inner : {3, 4, 31, 33, 128, 300, 1100}) {
    const Kernel kernel = every_combiner(kF32, 7, inner, false);
    CHECK(form_of(kernel) == GridForm::Rows);
    run_both_ways(kernel, call_of(kernel, 7, inner));
  }
}

TEST_CASE("teams: a team goes from one row or column to the next") {
  for (const bool is_columns : {false, true}) {
    KernelMaker k("sums", {97, 300}, 1);
    const OperandId in = k.input(kF32);
    const ExpressionId x = k.load(is_columns ? k.access(in, {1, 97}) : k.access(in, {300, 1}));
    const StageId sum = k.reduce(Combiner::Sum, x);
    k.map({{k.access(k.output(kF32), {1, 0}), k.result(sum)}}, false);
    CHECK(form_of(k.kernel) == (is_columns ? GridForm::Columns : GridForm::Rows));
    run_both_ways(k.kernel, {{drawn(kF32, 97 * 300), zeros(kF32, 97)}, {}, 0, 97});
  }
}

TEST_CASE("teams: the sum of a row is one tree") {
  KernelMaker k("sum", {1, 8}, 1);
  const StageId sum = k.reduce(Combiner::Sum, k.load(k.access(k.input(kF32), {8, 1})));
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(sum)}}, false);
  const Floats x{1e8f, 1, -1e8f, 3, 0.5f, 1e7f, 7, -1e7f};
  const KernelCall call{{memory(x), memory(Floats(1))}, {}, 0, 1};
  const auto sum_on = [&](const GridDescription& device) {
    const KernelOutcome outcome =
        run_as_grid({k.kernel}, {call}, ThreadOrder::Drawn, {}, device)[0];
    return elements<float>(outcome.operands[1])[0];
  };
  // A team of four, of which each lane has two consecutive points, and one of eight.
  CHECK(schedule_grid(k.kernel, kSmallDevice).elements == 2);
  CHECK(sum_on(kSmallDevice) == ((x[0] + x[1]) + (x[4] + x[5])) + ((x[2] + x[3]) + (x[6] + x[7])));
  CHECK(sum_on(kTwoWarps) == ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])));
}

TEST_CASE("teams: arg_max is the first of equals, and NaN before all") {
  KernelMaker k("arg_max", {6, 40}, 1);
  const StageId stage = k.reduce(Combiner::ArgMax, k.load(k.access(k.input(kF32), {40, 1})));
  k.map({{k.access(k.output(DType::Int64), {1, 0}), k.result(stage)}}, false);
  Floats x(240, -std::numeric_limits<float>::infinity());
  x[40 + 7] = x[40 + 39] = 2;     // row 1: equal ones in two lanes
  x[80 + 33] = x[80 + 1] = kNan;  // row 2: NaNs
  x[120 + 36] = 1, x[120 + 38] = kNan;
  for (std::size_t i = 160; i < 240; ++i) x[i] = static_cast<float>(i % 5);
  const KernelCall call{{memory(x), memory(Longs(6))}, {}, 0, 6};
  CHECK(elements<std::int64_t>(run_both_ways(k.kernel, call).operands[1]) ==
        Longs{0, 7, 1, 38, 4, 4});
}

TEST_CASE("teams: a reduction over no points gives the neutral value") {
  const ir::Dim none = ir::Dim::fresh("none");
  KernelMaker k("nothing", {3, none}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {none, 1}));
  const ExpressionId first = k.load(k.access(k.input(kF32), {0, 0}, none + -1));
  const StageId sum = k.reduce(Combiner::Sum, k.apply(Op::Mul, {x, first}));
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(sum)}}, false);
  CHECK(form_of(k.kernel) == GridForm::Rows);
  for (const std::int64_t size : {0, 1, 300}) {
    std::vector<std::int64_t> sizes;
    for (const ir::Dim& dim : k.kernel.sizes) {
      sizes.push_back(
          ir::evaluate(dim, [&](const ir::Symbol&) { return std::optional<std::int64_t>(size); }));
    }
    run_both_ways(k.kernel,
                  {{drawn(kF32, 3 * size), drawn(kF32, size), memory(Floats(3, 9))}, sizes, 0, 3});
  }
}

TEST_CASE("teams: stages share memory and kept values") {
  for (const std::int64_t columns : {2, 20, 100, 5000}) {
    KernelMaker k("normal", {5, columns}, 1);
    const AccessId in = k.access(k.input(kF32), {columns, 1});
    const OperandId y = k.output(kF32, true), sums = k.output(kF32, true);
    const ExpressionId x = k.load(in), half = k.apply(Op::Div, {x, k.number(kF32, 3)});
    const ExpressionId highest = k.result(k.reduce(Combiner::Max, x));
    // Kept values, and one that a lane stores and loads again.
    const AccessId all = k.access(y, {columns, 1});
    const ExpressionId centred = k.apply(Op::Sub, {half, highest});
    const StageId sum = k.reduce(Combiner::Sum, centred, {{all, centred}});
    const AccessId own = k.access(sums, {1, 0});
    k.map({{own, k.result(sum)}}, false);
    // Values that the first lane stored, that other lanes stored, and that were kept.
    const ExpressionId backwards = k.load(k.access(y, {columns, -1}, columns + -1));
    const ExpressionId scaled =
        k.apply(Op::Mul, {k.load(own), k.apply(Op::Add, {backwards, half})});
    k.map({{k.access(k.output(kF32), {columns, 1}), scaled}});
    // Overwrites elements that other lanes read.
    k.map({{all, k.apply(Op::Sub, {half, x})}});
    const GridSchedule schedule = schedule_grid(k.kernel, kTwoWarps);
    CHECK(schedule.form == GridForm::Rows);
    CHECK(schedule.barrier_before == std::vector<StageId>{StageId(3), StageId(4)});
    CHECK(schedule.kept.empty() == (columns == 5000));
    const std::int64_t count = 5 * columns;
    run_both_ways(
        k.kernel,
        {{drawn(kF32, count), zeros(kF32, count), zeros(kF32, 5), zeros(kF32, count)}, {}, 0, 5});
  }
}

TEST_CASE("teams: stages that share a loop read what earlier ones wrote") {
  KernelMaker k("doubled", {3, 40}, 1);
  const AccessId y = k.access(k.output(kF32, true), {40, 1}), z = k.access(k.output(kF32), {40, 1});
  const ExpressionId x = k.load(k.access(k.input(kF32), {40, 1}));
  const ExpressionId value = k.load(y), twice = k.apply(Op::Add, {value, value});
  k.map({{y, twice}});
  k.map({{z, value}});
  const StageId highest = k.reduce(Combiner::Max, x), lowest = k.reduce(Combiner::Min, x);
  const ExpressionId range = k.apply(Op::Sub, {k.result(highest), k.result(lowest)});
  k.map({{k.access(k.output(kF32), {1, 0}), range}}, false);
  const std::vector<StageGroup> groups = stage_groups(k.kernel, {});
  REQUIRE(groups.size() == 3);
  CHECK((groups[1].first == StageId(1) && groups[1].last == StageId(4)));
  run_both_ways(
      k.kernel,
      {{drawn(kF32, 120), zeros(kF32, 120), drawn(kF32, 120, 3), zeros(kF32, 3)}, {}, 0, 3});
}

TEST_CASE("teams: rows are added to the team's columns in their order") {
  for (const bool is_by_block : {false, true}) {
    // y[block, column] += sums[row] * x[block, row, column] / 3
    KernelMaker k("additions", {3, 4, 50}, 2);
    const ExpressionId x = k.load(k.access(k.input(kF32), {200, 50, 1}));
    const ExpressionId sum = k.result(k.reduce(Combiner::Sum, x));
    const AccessId y = k.access(k.output(kF32, true), {is_by_block ? 50 : 0, 0, 1});
    k.map({{y, k.apply(Op::Div, {k.apply(Op::Mul, {x, sum}), k.number(kF32, 3)}), true}});
    const GridSchedule schedule = schedule_grid(k.kernel, kTwoWarps);
    CHECK(schedule.form == GridForm::Rows);
    CHECK(schedule.axes == (is_by_block ? std::vector<int>{0} : std::vector<int>{}));
    run_both_ways(k.kernel, {{drawn(kF32, 600), drawn(kF32, 150, 7)}, {}, 0, 3});
  }
}

TEST_CASE("teams: overlapping windows are added in the order of the rows") {
  KernelMaker k("windows", {3, 4, 50}, 2);
  const ExpressionId x = k.load(k.access(k.input(kF32), {200, 50, 1}));
  const AccessId y = k.access(k.output(kF32, true), {60, 1, 1});
  k.map({{y, k.apply(Op::Div, {x, k.number(kF32, 3)}), true}});
  const GridSchedule schedule = schedule_grid(k.kernel, kTwoWarps);
  CHECK(schedule.form == GridForm::Rows);
  CHECK(schedule.axes == std::vector<int>{0});
  run_both_ways(k.kernel, {{drawn(kF32, 600), drawn(kF32, 180, 7)}, {}, 0, 3});
}

TEST_CASE("teams: threads own the columns to which rows are added") {
  const ir::Dim rows = ir::Dim::fresh("rows"), columns = ir::Dim::fresh("columns");
  KernelMaker k("columns", {rows, 2, columns}, 3);
  const ExpressionId x = k.load(k.access(k.input(kF32), {columns * 2, columns, 1}));
  const AccessId y = k.access(k.output(kF32, true), {0, columns, 1});
  k.map({{y, k.apply(Op::Div, {x, k.number(kF32, 3)}), true}});
  CHECK(schedule_grid(k.kernel, kTwoWarps).axes == std::vector<int>{1, 2});
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : k.kernel.sizes) {
    sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      return std::optional<std::int64_t>(symbol.name.find("rows") == 0 ? 9 : 5);
    }));
  }
  run_both_ways(k.kernel, {{drawn(kF32, 90), drawn(kF32, 10, 7)}, sizes, 0, 9});
}

TEST_CASE("teams: the index out of range is that of the first point, stage after stage") {
  KernelMaker k("gathers", {4, 40}, 1);
  const OperandId table = k.input(kF32);
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {40, 1}));
  const ExpressionId early = k.load(k.access_at(table, {0, 0}, at, 1, 3));
  const ExpressionId late = k.load(k.access_at(table, {0, 0}, at, 1, 2));
  const StageId sum = k.reduce(Combiner::Sum, early);
  k.map({{k.access(k.output(kF32), {40, 1}), k.apply(Op::Add, {late, k.result(sum)})}});
  std::vector<std::int32_t> indices(160, 0);
  indices[85] = 2;                 // row 2, in the second stage
  indices[110] = 5;                // row 2, in both
  indices[111] = indices[41] = 1;  // none
  indices[130] = -7;               // row 3
  const KernelCall call{{memory(Floats{1, 2, 3}), memory(indices), zeros(kF32, 160)}, {}, 0, 4};
  CHECK(run_both_ways(k.kernel, call).out_of_range.index == 5);
}

TEST_CASE("fibres: a barrier without some of the block's threads is an error") {
  BlockFibres fibres(40);
  std::int64_t now = 0;
  const auto enter = [&](std::int64_t thread) { now = thread; };
  const auto run = [&](const std::function<void()>& body) {
    for (const ThreadOrder order : kThreadOrders) fibres.run(order, body, enter);
  };
  CHECK_NOTHROW(run([] { BlockFibres::wait_for_block(); }));
  CHECK_NOTHROW(run([&] {
    if (now < 32) BlockFibres::wait_for_warp();
    const auto own = static_cast<std::uint64_t>(now);
    for (int i = 0; i < 3; ++i) CHECK(BlockFibres::exchange(own + 7, 4) == (own ^ 4) + 7);
  }));
  CHECK_THROWS(run([&] {
    if (now != 3) BlockFibres::wait_for_block();
  }));
  CHECK_THROWS(run([&] {
    if (now < 20) BlockFibres::wait_for_warp();
  }));
  CHECK_THROWS(run([&] { BlockFibres::exchange(1, now == 5 ? 1 : 2); }));
}
