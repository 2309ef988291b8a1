// Tests rows whose lanes compute groups of consecutive points, at aligned and at odd addresses.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/point_checks.h"

#include "backends/codegen/text/grid_text.h"
#include "core/types/text.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

/// y = x - sum of the row's x, in each row of `pitch` elements, in the rows below `guarded`; the
/// sum is stored, too, and a value of each column is added.
Kernel centred(DType dtype, const ir::Dim& rows, const ir::Dim& columns, const ir::Dim& pitch,
               int guarded = 100) {
  KernelMaker k("centred", {rows, columns}, 1);
  const ExpressionId is_wanted = k.apply(Op::Less, {k.axis(0), k.number(DType::Int64, guarded)});
  const ExpressionId stored = k.load(k.guard(k.access(k.input(dtype), {pitch, 1}), is_wanted));
  const DType sums = is_float(dtype) && dtype_bytes(dtype) < 4 ? kF32 : dtype;
  const ExpressionId x = sums == dtype ? stored : k.convert(sums, stored);
  const ExpressionId third = is_float(sums) ? k.apply(Op::Div, {x, k.number(sums, 3)}) : x;
  const ExpressionId sum = k.result(k.reduce(Combiner::Sum, third));
  const ExpressionId centred = k.apply(Op::Sub, {x, sum});
  const ExpressionId y = sums == dtype ? centred : k.convert(dtype, centred);
  const AccessId to = k.guard(k.access(k.output(dtype), {columns, 1}), is_wanted);
  k.map({{to, y}});
  k.map({{k.access(k.output(sums), {1, 0}), sum}}, false);
  return k.kernel;
}

/// Sums of rows, and the index of each row's largest element.
Kernel reduced(const ir::Dim& rows, const ir::Dim& columns) {
  KernelMaker k("reduced", {rows, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
  const ExpressionId third = k.apply(Op::Div, {x, k.number(kF32, 3)});
  const StageId sum = k.reduce(Combiner::Sum, third), largest = k.reduce(Combiner::ArgMax, x);
  k.map({{k.access(k.output(kF32), {1, 0}), k.result(sum)},
         {k.access(k.output(DType::Int64), {1, 0}), k.result(largest)}},
        false);
  return k.kernel;
}

/// y[column] += x[row, column] - maximum of the row
Kernel additions(const ir::Dim& rows, std::int64_t columns) {
  KernelMaker k("additions", {rows, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
  const ExpressionId third = k.apply(Op::Div, {x, k.number(kF32, 3)});
  const ExpressionId highest = k.result(k.reduce(Combiner::Max, third));
  k.map({{k.access(k.output(kF32, true), {0, 1}), k.apply(Op::Sub, {third, highest}), true}});
  return k.kernel;
}

KernelCall row_call(const Kernel& kernel, std::int64_t rows, std::int64_t columns,
                    std::int64_t pitch) {
  KernelCall call{{}, sizes_of(kernel, rows, columns), 0, kernel.outer == 0 ? 1 : rows};
  for (const OperandId i : kernel.operands.ids()) {
    call.operands.push_back(numbers(kernel.operands[i].dtype, rows * pitch + 1, 11 * i.number));
  }
  return call;
}

struct Case {
  Kernel kernel;
  KernelCall call;
};

/// Runs the text at aligned and at odd addresses and checks that all bits are those of the
/// interpreter of schedules. Returns the number of schedules with vectors.
int check_rows(std::vector<Case> cases) {
  int vectors = 0;
  for (const GridDescription& device : {kSmallDevice, kTwoWarps, kManyBlocks}) {
    std::vector<Kernel> kernels;
    std::vector<KernelCall> calls;
    for (const Case& one : cases) {
      kernels.push_back(one.kernel);
      kernels.back().name = text("k", kernels.size());
      calls.push_back(one.call);
      vectors += schedule_grid(one.kernel, device).elements > 1 ? 1 : 0;
    }
    for (const std::vector<std::int64_t>& shifts :
         std::vector<std::vector<std::int64_t>>{{0}, {1}, {0, 0, 1}}) {
      const ThreadOrder order = shifts.size() == 1 ? ThreadOrder::Descending : ThreadOrder::Drawn;
      const auto found = run_as_grid(kernels, calls, order, {.shifts = shifts}, device);
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        INFO(print(kernels[i]) << print(schedule_grid(kernels[i], device)) << "\nlength "
                               << calls[i].end << ", shift " << shifts.back());
        const auto expected = run_as_parsed_grid(kernels[i], calls[i], order, {}, device);
        check_equal(found[i], expected);
        check_close(kernels[i], expected, run_interpreted(kernels[i], calls[i]));
      }
    }
  }
  return vectors;
}

}  // namespace

TEST_CASE("row vectors: rows of whole vectors that leave few lanes idle") {
  const ir::Dim n = ir::Dim::fresh("n"), m = ir::Dim::fresh("rows");
  const struct {
    std::int64_t columns;
    DType dtype;
    int elements;
  } rows[] = {
      {1000, kF32, 4}, {1024, kF32, 4}, {1024, DType::Float64, 2}, {1024, DType::BFloat16, 8},
      {128, kF32, 4},  {96, kF32, 1},   // of 32 lanes, 8 would be idle
      {768, kF32, 2},  // of 128 lanes, 64 would be idle in the second of two turns
      {1002, kF32, 2}, {1001, kF32, 1}, {100000, kF32, 4}};
  for (const auto& row : rows) {
    INFO(row.columns << " of " << dtype_name(row.dtype));
    const Kernel kernel = centred(row.dtype, m, row.columns, row.columns);
    const GridSchedule schedule = schedule_grid(kernel, {});
    CHECK(schedule.form == GridForm::Rows);
    CHECK(schedule.elements == row.elements);
    CHECK_NOTHROW(verify(kernel, schedule, {}));
  }
  const auto elements_of = [](const Kernel& kernel) { return schedule_grid(kernel, {}).elements; };
  CHECK(elements_of(centred(kF32, m, n, n)) == 4);
  CHECK(elements_of(centred(kF32, m, 1024, 1026)) == 2);
  CHECK(elements_of(centred(kF32, m, 1024, 1025)) == 1);
  CHECK(elements_of(reduced(2, 1 << 20)) == 4);
  CHECK(elements_of(additions(m, 1024)) == 4);
  CHECK_THAT(print(schedule_grid(reduced(2, 1 << 20), {})), ContainsSubstring("vectors of 4"));
}

TEST_CASE("row vectors: every load is a vector or loop-invariant") {
  const auto elements_of = [](const std::function<ExpressionId(KernelMaker&)>& other) {
    KernelMaker k("row", {5, 1024}, 1);
    const ExpressionId x = k.load(k.access(k.input(kF32), {1024, 1}));
    const ExpressionId sum = k.result(k.reduce(Combiner::Sum, k.apply(Op::Add, {x, other(k)})));
    k.map({{k.access(k.output(kF32), {1, 0}), sum}}, false);
    const GridSchedule schedule = schedule_grid(k.kernel, {});
    CHECK(schedule.form == GridForm::Rows);
    return schedule.elements;
  };
  const auto input = [](KernelMaker& k) { return k.input(kF32); };
  CHECK(elements_of([&](KernelMaker& k) { return k.load(k.access(input(k), {1, 0})); }) == 4);
  CHECK(elements_of([&](KernelMaker& k) { return k.load(k.access(input(k), {0, 1}, 4)); }) == 4);
  CHECK(elements_of([&](KernelMaker& k) { return k.load(k.access(input(k), {0, 1}, 2)); }) == 2);
  CHECK(elements_of([&](KernelMaker& k) { return k.load(k.access(input(k), {0, 5})); }) == 1);
  CHECK(elements_of([&](KernelMaker& k) {
          const ExpressionId odd = k.apply(Op::Less, {k.number(DType::Int64, 3), k.axis(1)});
          return k.load(k.guard(k.access(input(k), {0, 1}), odd));
        }) == 1);
  CHECK(elements_of([&](KernelMaker& k) {
          const ExpressionId at = k.load(k.access(k.input(DType::Int32), {1, 0}));
          return k.load(k.access_at(input(k), {0, 1}, at, 1024, 9));
        }) == 1);
}

TEST_CASE("row vectors: bits do not depend on addresses") {
  std::vector<Case> cases;
  for (const DType dtype : {kF32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8}) {
    const Kernel kernel = centred(dtype, 3, 320, 320);
    cases.push_back({kernel, row_call(kernel, 3, 320, 320)});
  }
  for (const std::int64_t columns : {16, 64, 128, 1280, 6000}) {
    const Kernel kernel = centred(kF32, 5, columns, columns + 4, 3);
    cases.push_back({kernel, row_call(kernel, 5, columns, columns + 4)});
    const Kernel sums = reduced(2, columns);
    cases.push_back({sums, row_call(sums, 2, columns, columns)});
    const Kernel added = additions(4, columns);
    cases.push_back({added, row_call(added, 4, columns, columns)});
  }
  CHECK(check_rows(std::move(cases)) >= 40);
}

TEST_CASE("row vectors: lanes hold column sums of consecutive rows in registers") {
  const ir::Dim m = ir::Dim::fresh("rows");
  const auto held = [](const Kernel& kernel) { return schedule_grid(kernel, {}).held; };
  const std::vector<OperandId> sums{OperandId(1)};
  CHECK(held(additions(m, 64)) == sums);
  CHECK(held(additions(8, 1024)) == sums);
  CHECK(held(additions(8, 100000)).empty());  // the loop over points is not unrolled
  CHECK_THAT(schedule_of(additions(m, 64), {}), ContainsSubstring(", hold operand 1"));
  // Blocks of rows have sums of their own.
  const auto blocks = [&](DType dtype, const ir::Dim& in_block, bool has_guard, bool is_read) {
    KernelMaker k("blocks", {6, 4, 64}, 2);
    const ExpressionId x = k.load(k.access(k.input(kF32), {256, 64, 1}));
    const ExpressionId highest = k.result(k.reduce(Combiner::Max, x));
    const OperandId sum = k.output(dtype, true);
    const ExpressionId value = k.apply(Op::Sub, {x, highest});
    const ExpressionId added = dtype == kF32 ? value : k.convert(dtype, value);
    AccessId to = k.access(sum, {64, in_block, 1});
    const ExpressionId is_early = k.apply(Op::Less, {k.axis(1), k.number(DType::Int64, 3)});
    if (has_guard) to = k.guard(to, is_early);
    k.map({{to, added, true}});
    if (is_read) k.map({{k.access(k.output(dtype), {256, 64, 1}), k.load(to)}});
    return k.kernel;
  };
  CHECK(held(blocks(kF32, 0, false, false)) == sums);
  CHECK(held(blocks(DType::Int64, 0, false, false)) == sums);
  CHECK(held(blocks(DType::Float16, 0, false, false)).empty());
  CHECK(held(blocks(kF32, 0, true, false)).empty());
  CHECK(held(blocks(kF32, 0, false, true)).empty());
  CHECK(held(blocks(kF32, 64, false, false)).empty());
  std::vector<Case> cases;
  for (const DType dtype : {kF32, DType::Float64, DType::Int64}) {
    const Kernel kernel = blocks(dtype, 0, false, false);
    KernelCall call{{numbers(kF32, 6 * 256), numbers(dtype, 6 * 64, 3)}, {}, 0, 6};
    cases.push_back({kernel, std::move(call)});
  }
  check_rows(std::move(cases));
  GridSchedule wrong = schedule_grid(blocks(kF32, 0, true, false), {});
  wrong.held = sums;
  CHECK_THROWS_WITH(verify(blocks(kF32, 0, true, false), wrong, {}),
                    ContainsSubstring("no column sum"));
}

TEST_CASE("row vectors: rows of every length that is known at the launch") {
  const ir::Dim m = ir::Dim::fresh("rows"), n = ir::Dim::fresh("columns");
  const Kernel kernel = centred(kF32, m, n, n + 4), sums = reduced(m, n);
  KernelMaker k("sum", {n}, 0);
  const ExpressionId x = k.load(k.access(k.input(kF32), {1}));
  const ExpressionId third = k.apply(Op::Div, {x, k.number(kF32, 3)});
  k.map({{k.access(k.output(kF32), {0}), k.result(k.reduce(Combiner::Sum, third))}}, false);
  std::vector<Case> cases;
  for (const std::int64_t columns : {1, 3, 4, 66, 257, 1100, 5003}) {
    cases.push_back({kernel, row_call(kernel, 3, columns, columns + 4)});
    cases.push_back({sums, row_call(sums, 3, columns, columns)});
    cases.push_back({k.kernel, row_call(k.kernel, 1, columns, columns)});
  }
  CHECK(check_rows(std::move(cases)) >= 3 * 21);
}
