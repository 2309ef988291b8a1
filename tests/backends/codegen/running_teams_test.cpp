// Tests running values of rows by teams of threads: the text and the interpreter of schedules.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/make_kernel.h"

#include "core/ops/convert.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

using Floats = std::vector<float>;

Memory zeros(DType dtype, std::int64_t count) {
  return {std::vector<std::byte>(static_cast<std::size_t>(count) * dtype_bytes(dtype))};
}

/// Drawn elements: near 1 for products, so that they stay finite.
Memory drawn(DType dtype, std::int64_t count, bool is_product) {
  Memory result;
  unsigned seed = 7;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const double fraction = static_cast<double>(seed >> 8) / (1 << 24);
    const double real = is_product ? 1 + (fraction - 0.5) / 64 : fraction * 16 - 8;
    const auto bytes = ir::scalar_bytes(dtype, is_float(dtype) ? real : std::floor(real));
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
  }
  return result;
}

/// y = running values of each row of x, plus x.
Kernel running(Combiner combiner, DType dtype, const ir::Dim& columns, bool is_backwards = false) {
  KernelMaker k("running", {3, columns}, 1);
  const auto access = [&](OperandId operand) {
    return is_backwards ? k.access(operand, {columns, -1}, columns + -1)
                        : k.access(operand, {columns, 1});
  };
  const ExpressionId x = k.load(access(k.input(dtype)));
  const StageId stage = k.running(combiner, x, {});
  const ExpressionId value = k.apply(Op::Add, {k.result(stage), x});
  k.kernel.stages.back().stores.push_back({access(k.output(dtype)), value});
  return k.kernel;
}

}  // namespace

TEST_CASE("running values: teams compute rows of every length and dtype") {
  GridCases cases;
  const auto add = [&](std::int64_t columns, DType dtype, Combiner combiner) {
    Kernel kernel = running(combiner, dtype, columns, columns % 2 != 0);
    CHECK(schedule_grid(kernel, kTwoWarps).form == GridForm::Rows);
    const std::int64_t count = 3 * columns;
    cases.add(std::move(kernel),
              {{drawn(dtype, count, combiner == Combiner::Prod), zeros(dtype, count)}, {}, 0, 3});
  };
  for (const std::int64_t columns : {64, 127, 129, 1025, 1500}) {
    add(columns, DType::Float32, Combiner::Sum);
  }
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int8, DType::UInt64}) {
    for (const Combiner combiner : {Combiner::Sum, Combiner::Prod, Combiner::Max, Combiner::Min}) {
      add(1100, dtype, combiner);
    }
  }
  cases.run();
}

TEST_CASE("running values: teams compute rows of unknown length, also of length 0") {
  const ir::Dim n = ir::Dim::fresh("n");
  const Kernel kernel = running(Combiner::Sum, DType::Int32, n, true);
  CHECK(schedule_grid(kernel, kTwoWarps).form == GridForm::Rows);
  GridCases cases;
  for (const std::int64_t size : {0, 1, 255, 700}) {
    std::vector<std::int64_t> sizes;
    for (const ir::Dim& dim : kernel.sizes) {
      sizes.push_back(
          ir::evaluate(dim, [&](const ir::Symbol&) { return std::optional<std::int64_t>(size); }));
    }
    const Memory x = drawn(DType::Int32, 3 * size, false);
    cases.add(kernel, {{x, zeros(DType::Int32, 3 * size)}, sizes, 0, 3});
  }
  cases.run();
}

TEST_CASE("running values: NaN propagates to the end of its row, and sums may be in place") {
  KernelMaker k("in_place", {2, 300}, 1);
  const AccessId all = k.access(k.output(DType::Float32, true), {300, 1});
  const StageId sum = k.running(Combiner::Max, k.load(all), {});
  k.kernel.stages.back().stores.push_back({all, k.result(sum)});
  Floats x(600, 1);
  x[130] = std::numeric_limits<float>::quiet_NaN();
  const KernelCall call{{memory(x)}, {}, 0, 2};
  const KernelOutcome outcome = run_interpreted(k.kernel, call);
  run_as_grids(k.kernel, call, outcome);
  const Floats found = elements<float>(outcome.operands[0]);
  CHECK((found[129] == 1 && std::isnan(found[131]) && std::isnan(found[299]) && found[300] == 1));
}

TEST_CASE("running values: stages before and after share memory with barriers") {
  KernelMaker k("stages", {2, 200}, 1);
  const ExpressionId x = k.load(k.access(k.input(DType::Int32), {200, 1}));
  const OperandId y = k.output(DType::Int32, true);
  const AccessId all = k.access(y, {200, 1});
  k.map({{all, k.apply(Op::Mul, {x, x})}});
  const ExpressionId backwards = k.load(k.access(y, {200, -1}, 199));
  const StageId sum = k.running(Combiner::Sum, backwards, {});
  const AccessId to = k.access(k.output(DType::Int32, true), {200, 1});
  k.kernel.stages.back().stores.push_back({to, k.result(sum)});
  k.map({{k.access(k.output(DType::Int32), {200, 1}), k.load(to)}});
  const GridSchedule schedule = schedule_grid(k.kernel, kTwoWarps);
  CHECK(schedule.form == GridForm::Rows);
  // Lanes have other points in the running stage than in the maps.
  CHECK(schedule.barrier_before == std::vector<StageId>{StageId(1), StageId(2)});
  const DType dtype = DType::Int32;
  KernelCall call{{drawn(dtype, 400, false)}, {}, 0, 2};
  for (int output = 0; output < 3; ++output) call.operands.push_back(zeros(dtype, 400));
  run_as_grids(k.kernel, call, run_interpreted(k.kernel, call));
}

TEST_CASE("running values: a thread computes short rows, many columns, and rows that others read") {
  const ir::Dim n = ir::Dim::fresh("n");
  const auto columns = [](const ir::Dim& outer) {
    KernelMaker k("columns", {outer, 1000}, 1);
    const ExpressionId x = k.load(k.access(k.input(DType::Float32), {1, outer}));
    const StageId sum = k.running(Combiner::Sum, x, {});
    const AccessId to = k.access(k.output(DType::Float32), {1, outer});
    k.kernel.stages.back().stores.push_back({to, k.result(sum)});
    return k.kernel;
  };
  const auto reason_of = [](const Kernel& kernel) { return schedule_grid(kernel, {}).reason; };
  CHECK(reason_of(running(Combiner::Sum, DType::Float32, 63)) == "few inner points");
  CHECK(reason_of(columns(1 << 16)) == "outer points for all threads");
  CHECK(reason_of(columns(n)) == "outer points for all threads");
  CHECK(schedule_grid(columns(100), {}).form == GridForm::Rows);
  Kernel used = running(Combiner::Sum, DType::Float32, 1000);
  Stage stage = used.stages.front();
  stage.kind = StageKind::Map;
  stage.value = {};
  used.stages.push_back(stage);
  CHECK(reason_of(used) == "a stage uses running values of another");
}
