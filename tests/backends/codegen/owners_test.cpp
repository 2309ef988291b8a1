// Tests additions at a dynamic index by owners: order, indices out of range, guards,
// units.
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"

#include "backends/codegen/grid/owners.h"
#include "tests/backends/codegen/traffic.h"

#include <kiln/error.h>

#include <cmath>
#include <cstring>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

constexpr std::int64_t kValues = 7;

/// y[at[p], c] += x[p, c]
Kernel scatter(const ir::Dim& points, const ir::Dim& columns, DType dtype = DType::Float32,
               const ir::Dim& values = kValues) {
  KernelMaker k("scatter", {columns, points}, 1);
  const ExpressionId index = k.load(k.access(k.input(DType::Int64), {0, 1}));
  const ExpressionId x = k.load(k.access(k.input(dtype), {1, columns}));
  const OperandId y = k.output(dtype, true);
  k.map({{k.access_at(y, {1, 0}, index, columns, values), x, true}});
  return k.kernel;
}

/// y[at[p]] += x[p]
Kernel histogram(std::int64_t points, std::int64_t values = kValues) {
  KernelMaker k("histogram", {points}, 0);
  const ExpressionId index = k.load(k.access(k.input(DType::Int64), {1}));
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {1}));
  k.map({{k.access_at(k.output(DType::Float32, true), {0}, index, 1, values), x, true}});
  return k.kernel;
}

Longs drawn_indices(std::int64_t points, std::int64_t values) {
  Longs list;
  for (std::int64_t p = 0; p < points; ++p) list.push_back(p * p * 13 % 1009 % values);
  return list;
}

/// Numbers whose sums depend on their order.
Floats numbers(std::int64_t count) {
  Floats list;
  for (std::int64_t i = 0; i < count; ++i) {
    const int power = static_cast<int>(i * 37 % 41) - 20;
    list.push_back(std::ldexp(1.0f + static_cast<float>(i % 7) / 7, power));
  }
  return list;
}

KernelCall call_of(const Longs& indices, std::int64_t columns, std::int64_t values = kValues) {
  const auto points = static_cast<std::int64_t>(indices.size());
  return {{memory(indices), memory(numbers(points * columns)), memory(numbers(values * columns))},
          {},
          0,
          columns};
}

/// Checks that every byte is that of additions in the order of the points.
void check_sums(const Longs& indices, std::int64_t columns, const KernelOutcome& outcome,
                std::int64_t values = kValues) {
  const Floats x = numbers(static_cast<std::int64_t>(indices.size()) * columns);
  Floats sums = numbers(values * columns);
  for (std::size_t p = 0; p < indices.size(); ++p) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (indices[p] < 0 || indices[p] >= values) continue;
      sums[at(indices[p] * columns + c)] += x[p * at(columns) + at(c)];
    }
  }
  CHECK(elements<float>(outcome.operands[2]) == sums);
}

}  // namespace

TEST_CASE("owners: additions are in the order of the points, for any sizes") {
  const struct {
    std::int64_t points, columns;
  } rows[] = {{3, 1}, {9, 2}, {16, 3}, {17, 4}, {100, 5}, {300, 70}, {600, 1}};
  for (const auto& row : rows) {
    INFO(row.points << " points, " << row.columns << " columns");
    const Kernel kernel = scatter(row.points, row.columns);
    CHECK(schedule_grid(kernel, kTwoWarps).form == GridForm::Owners);
    const Longs indices = drawn_indices(row.points, kValues);
    check_sums(indices, row.columns, run_all_ways(kernel, call_of(indices, row.columns)));
  }
}

TEST_CASE("owners: single numbers") {
  for (const std::int64_t values : {1, 7, 1000}) {
    INFO(values << " values");
    const Kernel kernel = histogram(520, values);
    const Longs indices = drawn_indices(520, values);
    KernelCall call = call_of(indices, 1, values);
    check_sums(indices, 1, run_all_ways(kernel, call), values);
  }
}

TEST_CASE("owners: numbers of values and columns that are known at the launch") {
  const ir::Dim points = ir::Dim::fresh("points"), columns = ir::Dim::fresh("columns");
  const ir::Dim values = ir::Dim::fresh("values");
  const Kernel kernel = scatter(points, columns, DType::Float32, values);
  CHECK(schedule_grid(kernel, {}).form == GridForm::Owners);
  const struct {
    std::int64_t points, columns, values;
  } rows[] = {{0, 3, 7}, {1, 1, 7}, {130, 40, 7}, {50, 3, 0}, {20, 0, 3}, {40, 2, 33}};
  for (const auto& row : rows) {
    INFO(row.points << " points, " << row.columns << " columns, " << row.values << " values");
    const Longs indices = drawn_indices(row.points, 7);
    KernelCall call = call_of(indices, row.columns, row.values);
    for (const ir::Dim& size : kernel.sizes) {
      call.sizes.push_back(size == points    ? row.points
                           : size == columns ? row.columns
                                             : row.values);
    }
    const KernelOutcome outcome = run_all_ways(kernel, call);
    check_sums(indices, row.columns, outcome, row.values);
    const bool is_bad = row.values == 0 && row.columns > 0;
    CHECK((outcome.out_of_range.access >= 0) == is_bad);
  }
}

TEST_CASE("owners: every numeric dtype") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::Bool) continue;
    INFO(dtype_name(dtype));
    const Longs indices = drawn_indices(40, kValues);
    KernelCall call{{memory(indices)}, {}, 0, 3};
    for (const std::size_t count : {std::size_t{40 * 3}, std::size_t{7 * 3}}) {
      std::vector<std::byte> bytes(count * dtype_bytes(dtype));
      for (std::size_t b = 0; b < bytes.size(); ++b) {
        bytes[b] = static_cast<std::byte>(b * 89 % 251);
      }
      call.operands.push_back({bytes});
    }
    run_all_ways(scatter(40, 3, dtype), call);
  }
}

TEST_CASE("owners: an index list on several axes between two outer ones") {
  // y[a, at[p, q], b] += x[a, p, q, b] * a
  KernelMaker k("between", {3, 5, 4, 6}, 2);
  const ExpressionId index = k.load(k.access(k.input(DType::Int32), {0, 0, 6, 1}));
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {120, 1, 30, 5}));
  const ExpressionId scaled = k.apply(Op::Mul, {x, k.convert(DType::Float32, k.axis(0))});
  const OperandId y = k.output(DType::Float32, true);
  k.map({{k.access_at(y, {35, 1, 0, 0}, index, 5, kValues), scaled, true}});
  const GridSchedule schedule = schedule_grid(k.kernel, {});
  CHECK(print(schedule) == "owners: blocks of 256 threads over i0 i1, 16 teams");
  std::vector<std::int32_t> indices;
  for (const std::int64_t one : drawn_indices(24, kValues)) {
    indices.push_back(static_cast<std::int32_t>(one));
  }
  const Floats before = numbers(3 * 7 * 5), values = numbers(3 * 24 * 5);
  const KernelCall call{{memory(indices), memory(values), memory(before)}, {}, 0, 3};
  const Floats y_after = elements<float>(run_all_ways(k.kernel, call).operands[2]);
  Floats sums = before;
  for (std::int64_t a = 0; a < 3; ++a) {
    for (std::int64_t p = 0; p < 24; ++p) {
      for (std::int64_t b = 0; b < 5; ++b) {
        sums[at(a * 35 + indices[at(p)] * 5 + b)] +=
            values[at(a * 120 + p * 5 + b)] * static_cast<float>(a);
      }
    }
  }
  CHECK(y_after == sums);
}

TEST_CASE("owners: the lowest point with an index out of range is recorded, and adds nothing") {
  const std::int64_t points = 90, columns = 6;
  for (const std::int64_t bad : {std::int64_t{-1}, kValues, std::int64_t{1} << 40}) {
    Longs indices = drawn_indices(points, kValues);
    indices[41] = bad;
    indices[80] = 99;
    const KernelOutcome outcome = run_all_ways(scatter(points, columns), call_of(indices, columns));
    CHECK(outcome.out_of_range.index == bad);
    CHECK(outcome.out_of_range.limit == kValues);
    check_sums(indices, columns, outcome);
  }
}

TEST_CASE("owners: indices of scatters and loads are checked in the order of plain loops") {
  // y[at[p], c] += table[from[p], c]; the index is itself found in a table.
  const std::int64_t points = 70, columns = 5;
  KernelMaker k("found", {columns, points}, 1);
  const ExpressionId from = k.load(k.access(k.input(DType::Int64), {0, 1}));
  const ExpressionId x =
      k.load(k.access_at(k.input(DType::Float32), {1, 0}, from, columns, kValues));
  const ExpressionId where = k.load(k.access(k.input(DType::Int64), {0, 1}));
  const ExpressionId index = k.load(k.access_at(k.input(DType::Int64), {0, 0}, where, 1, kValues));
  const OperandId y = k.output(DType::Float32, true);
  k.map({{k.access_at(y, {1, 0}, index, columns, kValues), x, true}});
  CHECK(schedule_grid(k.kernel, kTwoWarps).form == GridForm::Owners);
  const struct {
    const char* name;
    std::int64_t from, where, index, out_of_range;  // at point 30; 0: none there
  } rows[] = {{"none", 0, 0, 0, 0},
              {"of a value", 50, 0, 0, 50},
              {"of the index's own table", 0, 60, 0, 60},
              {"of both", 50, 60, 0, 50},
              {"of the index", 0, 0, 70, 70},
              {"of a value and the index", 50, 0, 70, 50}};
  for (const auto& row : rows) {
    INFO(row.name);
    Longs list = drawn_indices(points, kValues), positions = list, table{3, 1, 4, 0, 5, 2, 6};
    for (std::int64_t& position : positions) position = position == 6 ? 5 : position;
    if (row.from != 0) list[30] = row.from;
    if (row.where != 0) positions[30] = row.where;
    if (row.index != 0) {
      table[6] = row.index;
      positions[30] = 6;
    }
    KernelCall call{{memory(list), memory(numbers(kValues * columns)), memory(positions),
                     memory(table), memory(numbers(kValues * columns))},
                    {},
                    0,
                    columns};
    CHECK(run_all_ways(k.kernel, call).out_of_range.index == row.out_of_range);
  }
}

TEST_CASE("owners: a guard leaves points out, whatever their index is") {
  const std::int64_t points = 50, columns = 3;
  KernelMaker k("guarded", {columns, points}, 1);
  const ExpressionId index = k.load(k.access(k.input(DType::Int64), {0, 1}));
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {1, columns}));
  const OperandId y = k.output(DType::Float32, true);
  const AccessId to = k.access_at(y, {1, 0}, index, columns, kValues);
  const ExpressionId late = k.apply(Op::Less, {k.number(DType::Int64, 9), k.axis(1)});
  k.guard(to, late);
  k.map({{to, x, true}});
  CHECK(schedule_grid(k.kernel, kTwoWarps).form == GridForm::Owners);
  Longs indices = drawn_indices(points, kValues);
  indices[4] = 1000;
  const KernelOutcome outcome = run_all_ways(k.kernel, call_of(indices, columns));
  CHECK(outcome.out_of_range.access == -1);
  for (std::size_t p = 0; p < 10; ++p) indices[p] = -1;
  check_sums(indices, columns, outcome);
}

TEST_CASE("owners: kernels that owners cannot compute stay serial, with the reason") {
  const auto kernel_with = [](const auto& change) {
    KernelMaker k("other", {4, 10}, 1);
    const OperandId at = k.input(DType::Int64), x = k.input(DType::Float32);
    const OperandId y = k.output(DType::Float32, true);
    change(k, at, x, y);
    return k.kernel;
  };
  const struct {
    Kernel kernel;
    const char* reason;
  } rows[] = {
      {kernel_with([](KernelMaker& k, OperandId at, OperandId x, OperandId y) {
         const auto index = k.load(k.access(at, {0, 1})), value = k.load(k.access(x, {1, 4}));
         k.map({{k.access_at(y, {1, 0}, index, 4, 3), value, true}});
         k.map({{k.access_at(y, {1, 0}, index, 4, 3), value, true}});
       }),
       "several stages or stores"},
      {kernel_with([](KernelMaker& k, OperandId at, OperandId x, OperandId y) {
         const auto index = k.load(k.access(at, {10, 1})), value = k.load(k.access(x, {1, 4}));
         k.map({{k.access_at(y, {1, 0}, index, 4, 3), value, true}});
       }),
       "an index that differs between outer points"},
      {kernel_with([](KernelMaker& k, OperandId at, OperandId x, OperandId y) {
         const auto index = k.load(k.access(at, {0, 1})), value = k.load(k.access(x, {1, 4}));
         k.map({{k.access_at(y, {1, 4}, index, 4, 3), value, true}});
       }),
       "inner points add to different elements"},
      {kernel_with([](KernelMaker& k, OperandId at, OperandId x, OperandId y) {
         const auto index = k.load(k.access(at, {0, 1})), value = k.load(k.access(x, {1, 4}));
         k.map({{k.access_at(y, {1, 0}, index, 0, 3), value, true}});
       }),
       "all values of the index add to one element"},
      {kernel_with([](KernelMaker& k, OperandId at, OperandId, OperandId y) {
         const auto index = k.load(k.access(at, {0, 1})), value = k.load(k.access(y, {1, 0}));
         k.map({{k.access_at(y, {1, 0}, index, 4, 3), value, true}});
       }),
       "several outer points add to one element"},
      {kernel_with([](KernelMaker& k, OperandId at, OperandId x, OperandId y) {
         const ExpressionId index = k.load(k.access(at, {0, 1}));
         const ExpressionId value = k.load(k.access_at(x, {1, 0}, index, 4, 3));
         const AccessId to = k.access_at(y, {1, 0}, index, 4, 3);
         k.guard(to, k.apply(Op::Less, {k.number(DType::Int64, 9), k.axis(1)}));
         k.map({{to, value, true}});
       }),
       "a guard hides values that can fail"},
      {scatter(2, 5), "few inner points"},
  };
  for (const auto& row : rows) {
    INFO(print(row.kernel));
    const GridSchedule schedule = schedule_grid(row.kernel, {});
    CHECK(schedule.form == GridForm::Serial);
    CHECK(schedule.reason == row.reason);
    CHECK_NOTHROW(verify(row.kernel, schedule, {}));
    GridSchedule owners = schedule;
    owners.form = GridForm::Owners;
    owners.teams = 64;
    if (row.reason == std::string("few inner points")) continue;
    CHECK_THROWS_WITH(verify(row.kernel, owners, {}), ContainsSubstring("owners cannot"));
  }
}

TEST_CASE("owners: lanes divide additions at an index that is the same at all of their points") {
  // y[r, at[r], c] += x[r, c]
  KernelMaker k("rows", {40, 64}, 1);
  const ExpressionId index = k.load(k.access(k.input(DType::Int64), {1, 0}));
  const ExpressionId x = k.load(k.access(k.input(DType::Float32), {64, 1}));
  const AccessId to = k.access_at(k.output(DType::Float32, true), {192, 1}, index, 64, 3);
  k.map({{to, x, true}});
  CHECK(has_teams(schedule_grid(k.kernel, {})));
}

TEST_CASE("owners: few threads are without a column, and blocks fill the device") {
  const struct {
    std::int64_t columns, values;
    int teams;
    std::int64_t blocks;
  } rows[] = {{1, 100'000, 256, 528}, {1, 40, 256, 40},    {3, 1000, 64, 528},
              {64, 86, 4, 86},        {86, 86, 8, 258},    {256, 86, 1, 86},
              {512, 50'000, 1, 528},  {300, 1000, 4, 525}, {1 << 20, 10, 1, 1056}};
  for (const auto& row : rows) {
    INFO(row.columns << " columns, " << row.values << " values");
    const Kernel kernel = scatter(2048, row.columns, DType::Float32, row.values);
    const GridSchedule schedule = schedule_grid(kernel, {});
    CHECK(schedule.form == GridForm::Owners);
    CHECK(schedule.teams == row.teams);
    const auto known = [](const ir::Dim& dim) { return dim.value(); };
    const GridLaunch launch = launch_of(kernel, schedule, {}, known);
    CHECK(launch.blocks == row.blocks);
    CHECK(launch.points == row.columns);
    // Each unit reads the list; a short list is read from a cache.
    const OwnerUnits units = owner_units(lanes_of(schedule), row.columns, row.blocks, row.values);
    CHECK(units.share * units.ranges >= row.values);
    const GridSchedule serial{.form = GridForm::Serial, .axes = {0}};
    for (const std::int64_t points : {2048, 1 << 18}) {
      const Kernel one = scatter(points, row.columns, DType::Float32, row.values);
      const std::int64_t again = points == 2048 ? 0 : (units.count() - 1) * points * 8;
      CHECK(traffic_of(one, schedule, known).read == traffic_of(one, serial, known).read + again);
    }
  }
}

TEST_CASE("owners: the verifier names the broken rule") {
  const Kernel kernel = scatter(100, 40);
  const struct {
    GridSchedule schedule;
    const char* message;
  } rows[] = {
      {{GridForm::Owners, 256, {}, 8}, "owners do not divide all outer axes"},
      {{GridForm::Owners, 256, {0}, 3}, "its blocks do not divide into teams"},
      {{GridForm::Owners, 96, {0}, 3}, "the number of owner teams is not a power of two"},
      {{GridForm::Owners, 96, {0}, 1}, "the number of lanes of a team is not a power of two"},
      {{GridForm::Owners, 256, {0}, 8, {ExpressionId(1)}}, "its form has no teams"},
      {{GridForm::Owners, 256, {0}, 8, {}, {StageId(1)}}, "its form has no teams"},
      {{GridForm::Owners, 1024, {0}, 8}, "do not fit shared memory"}};
  for (const auto& row : rows) {
    INFO(print(row.schedule));
    CHECK_THROWS_WITH(verify(kernel, row.schedule, {}), ContainsSubstring(row.message));
  }
}
