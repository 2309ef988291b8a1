// Tests grid schedules: forms of each kind of kernel, the verifier's rules, grids for given sizes.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/grid/grid_schedule.h"
#include "tests/backends/codegen/traffic.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

constexpr GridDescription kDevice{};

/// y = tanh(x), on two axes.
Kernel elementwise(const ir::Dim& rows) {
  KernelMaker k("elementwise", {rows, 8}, 2);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {8, 1}));
  k.map({{k.access(k.output(DType::Float32), {8, 1}), k.apply(Op::Tanh, {x})}});
  return k.kernel;
}

/// y = x without the last of the `pitch` elements of each row of x.
Kernel narrowed(const ir::Dim& rows, const ir::Dim& columns, const ir::Dim& pitch,
                DType dtype = DType::Float32) {
  KernelMaker k("narrowed", {rows, columns}, 2);
  const ExpressionId x = k.load(k.access(k.input(dtype), {pitch, 1}));
  k.map({{k.access(k.output(dtype), {columns, 1}), x}});
  return k.kernel;
}

/// y[j, i] = x[i, j] + z[j, i]
Kernel transpose(const ir::Dim& rows, const ir::Dim& columns, DType dtype = DType::Float32) {
  KernelMaker k("transpose", {columns, rows}, 2);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1, columns}));
  const ExpressionId z = k.load(k.access(k.input(dtype), {rows, 1}));
  k.map({{k.access(k.output(dtype), {rows, 1}), k.apply(Op::Add, {x, z})}});
  return k.kernel;
}

/// y = sum of each row.
Kernel row_sums(const ir::Dim& columns = 8) {
  KernelMaker k("row_sums", {5, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {columns, 1}));
  const StageId sum = k.reduce(Combiner::Sum, x);
  k.map({{k.access(k.output(DType::Float32), {1, 0}), k.result(sum)}}, false);
  return k.kernel;
}

/// y = sum of each column.
Kernel column_means(const ir::Dim& rows, const ir::Dim& columns = 5) {
  KernelMaker k("column_means", {columns, rows}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {1, columns}));
  const StageId sum = k.reduce(Combiner::Sum, x);
  k.map({{k.access(k.output(DType::Float32), {1, 0}), k.result(sum)}}, false);
  return k.kernel;
}

/// y = exp(x) / sum of exp(x) in each row, then y times its row's last element.
Kernel softmax(const ir::Dim& columns) {
  KernelMaker k("softmax", {5, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {columns, 1}));
  const ExpressionId power = k.apply(Op::Exp, {x});
  const StageId sum = k.reduce(Combiner::Sum, power);
  const OperandId y = k.output(DType::Float32, true);
  const AccessId all = k.access(y, {columns, 1});
  k.map({{all, k.apply(Op::Div, {power, k.result(sum)})}});
  const ExpressionId last = k.load(k.access(y, {columns, 0}, columns + -1));
  k.map({{k.access(k.output(DType::Float32), {columns, 1}), k.apply(Op::Mul, {last, x})}});
  return k.kernel;
}

/// y = running sum of each row.
Kernel running(const ir::Dim& columns) {
  KernelMaker k("running", {5, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Int32), {columns, 1}));
  const StageId sum = k.running(Combiner::Sum, x, {});
  const AccessId to = k.access(k.output(DType::Int32), {columns, 1});
  k.kernel.stages.back().stores.push_back({to, k.result(sum)});
  return k.kernel;
}

/// y += x; element i of y belongs to index i of axis `axis`.
Kernel additions(int axis) {
  KernelMaker k("additions", {5, 8}, 2);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {8, 1}));
  const AccessId to =
      k.access(k.output(DType::Float32, true), {axis == 0 ? 1 : 0, axis == 1 ? 1 : 0});
  k.map({{to, x, /*accumulate=*/true}});
  return k.kernel;
}

GridSchedule points_of(int elements, int unroll) {
  return {.form = GridForm::Points, .axes = {0, 1}, .elements = elements, .unroll = unroll};
}

GridSchedule rows_of(int elements, int unroll) {
  return {.form = GridForm::Rows, .axes = {0}, .teams = 32, .elements = elements, .unroll = unroll};
}

GridSchedule tiles_of(int tile_axis, int threads) {
  return {.form = GridForm::Tile, .threads = threads, .axes = {0, 1}, .tile_axis = tile_axis};
}

/// y += sum of each row, at every point.
Kernel additions_in_order() {
  KernelMaker k("additions_in_order", {5, 8}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {8, 1}));
  const AccessId to = k.access(k.output(DType::Float32, true), {1, 0});
  k.map({{to, x, /*accumulate=*/true}});
  return k.kernel;
}

std::int64_t known(const ir::Dim& dim) { return dim.value(); }

}  // namespace

TEST_CASE("grid schedule: the form follows from inner axes and additions") {
  const ir::Dim n = ir::Dim::fresh("n");
  const struct {
    Kernel kernel;
    const char* schedule;
  } rows[] = {
      // One group per thread of a block on each multiprocessor, then several groups at a time.
      {elementwise(4), "points: blocks of 256 threads over i0 i1"},
      {elementwise(16895), "points: blocks of 256 threads over i0 i1, vectors of 2"},
      {elementwise(16896), "points: blocks of 256 threads over i0 i1, vectors of 4"},
      {elementwise(n), "points: blocks of 256 threads over i0 i1, vectors of 4, unroll 2"},
      {elementwise(1 << 20), "points: blocks of 256 threads over i0 i1, vectors of 4, unroll 2"},
      // Row lengths or pitches that are no multiples of the vector length.
      {narrowed(n, 1001, 2000), "points: blocks of 256 threads over i0 i1, unroll 4"},
      {narrowed(n, 1000, 1001), "points: blocks of 256 threads over i0 i1, unroll 4"},
      {narrowed(n, 1000, 1002), "points: blocks of 256 threads over i0 i1, vectors of 2, unroll 4"},
      {narrowed(n, n, n + 1), "points: blocks of 256 threads over i0 i1, vectors of 4, unroll 2"},
      {narrowed(n, n, n + 1, DType::BFloat16),
       "points: blocks of 256 threads over i0 i1, vectors of 8, unroll 2"},
      {narrowed(n, n, n + 1, DType::Float64),
       "points: blocks of 256 threads over i0 i1, vectors of 2, unroll 2"},
      {transpose(16, 1000), "tile: blocks of 256 threads over i0 i1, rows along i0"},
      {transpose(n, n + 1), "tile: blocks of 256 threads over i0 i1, rows along i0"},
      {transpose(15, 1000), "points: blocks of 256 threads over i0 i1"},
      // Points of one row add to one element: one thread adds them in order.
      {additions(0), "serial: blocks of 256 threads over i0"},
      // Every row adds to every element: threads own columns.
      {additions(1), "serial: blocks of 256 threads over i1"},
      {running(8), "serial: blocks of 256 threads over i0; few inner points"},
      {running(100), "rows: blocks of 256 threads over i0, 8 teams"},
      {running(2000), "rows: blocks of 256 threads over i0, 1 teams"},
      {running(n), "rows: blocks of 256 threads over i0, 1 teams"},
      {row_sums(2), "serial: blocks of 256 threads over i0; few inner points"},
      {row_sums(8), "rows: blocks of 256 threads over i0, 32 teams"},
      {row_sums(86), "rows: blocks of 256 threads over i0, 8 teams"},
      {row_sums(512), "rows: blocks of 128 threads over i0, 2 teams, vectors of 4"},
      {row_sums(1000), "rows: blocks of 128 threads over i0, 1 teams, vectors of 4"},
      {row_sums(1001), "rows: blocks of 128 threads over i0, 1 teams"},
      {row_sums(1 << 20), "rows: blocks of 256 threads over i0, 1 teams, vectors of 4, split"},
      {row_sums(n), "rows: blocks of 256 threads over i0, 1 teams, vectors of 4, split"},
      {column_means(8), "serial: blocks of 256 threads over i0; few inner points"},
      {column_means(32), "columns: blocks of 32 threads over i0, 8 teams"},
      {column_means(n), "columns: blocks of 256 threads over i0, 8 teams, split"},
      {column_means(n, 32), "columns: blocks of 256 threads over i0, 32 teams, split"},
      {column_means(n, 2), "columns: blocks of 128 threads over i0, 2 teams, split"},
      {column_means(513, 1 << 20), "columns: blocks of 256 threads over i0, 32 teams"},
      {column_means(64, 1 << 20),
       "serial: blocks of 256 threads over i0; outer points for all threads"},
      // A thread holds both elements of a row, and keeps them.
      {softmax(2),
       "rows: blocks of 256 threads over i0, 256 teams, keep v0 v1, barriers before stage 2"},
      // Rows are empty: no element is kept.
      {softmax(0), "serial: blocks of 256 threads over i0; few inner points"},
      {softmax(1000),
       "rows: blocks of 128 threads over i0, 1 teams, keep v0 v1, barriers before stage 2"},
      // Blocks of 1,024 threads have 64 registers per thread: 32 for two kept values of 16 points.
      {softmax(1 << 14),
       "rows: blocks of 1024 threads over i0, 1 teams, keep v0 v1, barriers before stage 2"},
      {softmax((1 << 14) + 1),
       "rows: blocks of 1024 threads over i0, 1 teams, barriers before stage 2"},
      {softmax(n), "rows: blocks of 256 threads over i0, 1 teams, barriers before stage 2"},
  };
  for (const auto& row : rows) {
    INFO(print(row.kernel));
    const GridSchedule schedule = schedule_grid(row.kernel, kDevice);
    CHECK(print(schedule) == row.schedule);
    CHECK_NOTHROW(verify(row.kernel, schedule, kDevice));
  }
}

TEST_CASE("grid size: as many blocks as the points need and the device holds at a time") {
  const struct {
    std::int64_t rows, points, blocks;
  } rows[] = {{0, 0, 0},
              {1, 8, 1},
              {32, 256, 1},
              {33, 264, 2},
              {16896, 135168, 132},  // groups of four
              {1 << 20, 1 << 23, 132 * 8}};
  for (const auto& row : rows) {
    INFO(row.rows);
    const Kernel kernel = elementwise(row.rows);
    const GridLaunch launch = launch_of(kernel, schedule_grid(kernel, kDevice), kDevice, known);
    CHECK(launch.points == row.points);
    CHECK(launch.blocks == row.blocks);
  }
  const Kernel tiled = transpose(40, 100);
  const GridLaunch tiles = launch_of(tiled, schedule_grid(tiled, kDevice), kDevice, known);
  CHECK(tiles.points == 4000);
  CHECK(tiles.blocks == 2 * 4);
  const Kernel kernel = additions(1);
  const GridLaunch launch = launch_of(kernel, schedule_grid(kernel, kDevice), kDevice, known);
  CHECK(launch.points == 8);
  CHECK(launch.blocks == 1);
  // Eight rows per block.
  const Kernel sums = row_sums(86);
  CHECK(launch_of(sums, schedule_grid(sums, kDevice), kDevice, known).blocks == 1);
  const Kernel long_sums = row_sums(1000);
  const GridLaunch rows_launch =
      launch_of(long_sums, schedule_grid(long_sums, kDevice), kDevice, known);
  CHECK(rows_launch.blocks == 5);
  CHECK(rows_launch.threads == 128);
}

TEST_CASE("grid schedule: the verifier names the kernel and the broken rule") {
  const ir::Dim n = ir::Dim::fresh("n");
  constexpr ExpressionId v0(0), v1(1), v5(5);
  constexpr StageId s1(1), s2(2), s3(3);
  const struct {
    Kernel kernel;
    GridSchedule schedule;
    const char* message;
  } rows[] = {
      {elementwise(4), {GridForm::Points, 2048, {0, 1}}, "its blocks do not fit the device"},
      {elementwise(4), {GridForm::Points, 0, {0, 1}}, "its blocks do not fit the device"},
      {row_sums(), {GridForm::Serial, 256, {0, 1}}, "threads share an outer point"},
      {elementwise(4), {GridForm::Points, 256, {1, 0}}, "threads share an outer point"},
      {row_sums(), {GridForm::Points, 256, {0}}, "some of its axes are not parallel"},
      {row_sums(), {GridForm::Serial, 256, {0}, 2}, "its form has no teams"},
      {additions(0), {GridForm::Points, 256, {0, 1}}, "threads add to one element"},
      {additions(1), {GridForm::Serial, 256, {0}}, "threads add to one element"},
      {elementwise(4), {GridForm::Rows, 256, {0}, 8}, "teams without inner axes"},
      {row_sums(), {GridForm::Rows, 256, {0}, 3}, "its blocks do not divide into teams"},
      {row_sums(),
       {GridForm::Rows, 96, {0}, 1},
       "the number of lanes of a team is not a power of two"},
      {additions_in_order(), {GridForm::Rows, 256, {0}, 8}, "points that run in order"},
      {running(9), {GridForm::Columns, 256, {0}, 32}, "form Columns with a running stage"},
      {running(9), {GridForm::Rows, 256, {0}, 8, {v0}}, "it keeps values across a running stage"},
      {running(9),
       {GridForm::Rows, 256, {0}, 2},
       "a running stage with several teams of several warps"},
      {softmax(9), {GridForm::Rows, 256, {0}, 8}, "without a barrier"},
      {softmax(9), {GridForm::Rows, 256, {0}, 8, {}, {s1}}, "without a barrier"},
      {softmax(9),
       {GridForm::Rows, 256, {0}, 8, {}, {s3}},
       "a barrier before a stage that does not exist"},
      {softmax(9), {GridForm::Rows, 256, {0}, 8, {v5}, {s2}}, "it keeps a value that changes"},
      {softmax(9999),
       {GridForm::Rows, 256, {0}, 8, {v1}, {s2}},
       "it keeps values across a loop that is not unrolled"},
      {softmax(0),
       {GridForm::Rows, 256, {0}, 256, {v0}, {s2}},
       "it keeps values of lanes without points"},
      {softmax(n),
       {GridForm::Rows, 256, {0}, 8, {}, {s2}, true},
       "blocks divide inner points that a stage needs together"},
      {row_sums(), {GridForm::Rows, 256, {}, 8, {}, {}, true}, "divide points that run in order"},
      {row_sums(), {GridForm::Serial, 256, {0}, 1, {}, {}, true}, "its form has no teams"},
      {column_means(9), {GridForm::Columns, 512, {0}, 32}, "do not fit shared memory"},
      {elementwise(4), points_of(3, 1), "its point groups have an invalid size"},
      {elementwise(4), points_of(32, 1), "its point groups have an invalid size"},
      {elementwise(4), points_of(4, 0), "its point groups have an invalid size"},
      {elementwise(4), points_of(16, 1), "its vectors are not contiguous"},
      {narrowed(4, 8, 9), points_of(2, 1), "its vectors are not contiguous"},
      {row_sums(9), rows_of(2, 1), "its vectors are not contiguous"},
      {softmax(8), rows_of(2, 1), "its vectors are not contiguous"},
      {row_sums(), rows_of(2, 2), "its form has no point groups"},
      {column_means(8),
       {.form = GridForm::Columns, .axes = {0}, .teams = 32, .elements = 2},
       "its form has no point groups"},
      {row_sums(),
       {.form = GridForm::Serial, .axes = {0}, .elements = 2},
       "its form has no point groups"},
      {row_sums(),
       {.form = GridForm::Serial, .axes = {0}, .unroll = 2},
       "its form has no point groups"},
      {transpose(32, 32), tiles_of(0, 48), "its blocks do not cover whole rows of a tile"},
      {transpose(32, 32), tiles_of(0, 96), "its blocks do not cover whole rows of a tile"},
      {transpose(32, 32), tiles_of(1, 64), "its tile axis cannot be tiled"},
      {elementwise(32), tiles_of(0, 64), "its tile axis cannot be tiled"},
      {row_sums(),
       {.form = GridForm::Tile, .axes = {0}, .tile_axis = 0},
       "some of its axes are not parallel"},
      {transpose(32, 32), tiles_of(0, 64), "do not fit shared memory"},
  };
  for (const auto& row : rows) {
    INFO(row.kernel.name << ", " << print(row.schedule));
    GridDescription device;
    device.shared_bytes = 1024;
    CHECK_THROWS_WITH(
        verify(row.kernel, row.schedule, device),
        ContainsSubstring("kernel " + row.kernel.name) && ContainsSubstring(row.message));
  }
}

TEST_CASE("traffic: passes over memory, and sectors that threads use only in part") {
  const Kernel sums = row_sums(1000);
  const Traffic compulsory = compulsory_traffic(sums, known);
  CHECK(compulsory.read == 5 * 1000 * 4);
  CHECK(compulsory.written == 5 * 4);
  CHECK(traffic_of(sums, schedule_grid(sums, kDevice), known).bytes() == compulsory.bytes());
  // 205 parts of each of five rows, written and read once, and padding.
  const Kernel long_sums = row_sums(1 << 20);
  const Traffic parts = traffic_of(long_sums, schedule_grid(long_sums, kDevice), known);
  CHECK(parts.read == compulsory_traffic(long_sums, known).read + 1040 * 4);
  CHECK(parts.written == (5 + 1040) * 4);
  // Neighbouring threads read different rows: a sector of 32 bytes for each element of four.
  const GridSchedule by_threads{.form = GridForm::Serial, .axes = {0}};
  CHECK(traffic_of(sums, by_threads, known).read == 8 * compulsory.read);
  // Without kept values x is read in each of the three stages.
  const Kernel rows = softmax(1000);
  GridSchedule schedule = schedule_grid(rows, kDevice);
  const std::int64_t once = traffic_of(rows, schedule, known).read;
  schedule.kept.clear();
  CHECK(traffic_of(rows, schedule, known).read == once + 2 * 5 * 1000 * 4);
  // Overlapping windows, and a table of which each point reads one element.
  KernelMaker k("windows", {100, 3}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {1, 1}));
  const ExpressionId index = k.convert(DType::Int64, x);
  const ExpressionId found =
      k.load(k.access_at(k.input(DType::Float64), {0, 0}, index, 1, 1 << 20));
  k.map({{k.access(k.output(DType::Float64), {3, 1}), found}});
  CHECK(compulsory_traffic(k.kernel, known).read == 102 * 4 + 300 * 8);
}

TEST_CASE("traffic: tiles move the operands of a transpose once, points a sector per element") {
  for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Int8}) {
    INFO(dtype_name(dtype));
    const Kernel kernel = transpose(8192, 4096, dtype);
    const auto compulsory = static_cast<double>(compulsory_traffic(kernel, known).bytes());
    const GridSchedule schedule = schedule_grid(kernel, kDevice);
    CHECK(schedule.form == GridForm::Tile);
    CHECK(static_cast<double>(traffic_of(kernel, schedule, known).bytes()) <= 1.05 * compulsory);
    const GridSchedule points{.form = GridForm::Points, .axes = {0, 1}};
    CHECK(static_cast<double>(traffic_of(kernel, points, known).bytes()) >= 3 * compulsory);
  }
}
