// Tests kernels whose threads take groups of neighbouring points, at aligned and at odd addresses.
#include "tests/support/catch.h"
#include "tests/backends/codegen/point_checks.h"

#include "core/types/text.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

/// y = max(x, z) over `points`, z of another dtype.
Kernel maximum(DType dtype, DType other, const ir::Dim& points) {
  KernelMaker k("maximum", {points}, 1);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1}));
  const ExpressionId z = k.load(k.access(k.input(other), {1}));
  const Op op = dtype == DType::Bool ? Op::Or : Op::Maximum;
  const ExpressionId both = k.apply(op, {x, other == dtype ? z : k.convert(dtype, z)});
  k.map({{k.access(k.output(dtype), {1}), both}});
  return k.kernel;
}

Run run_of(const Kernel& kernel, std::int64_t points) {
  Run run{kernel, {{}, {}, 0, points}};
  for (const OperandId i : kernel.operands.ids()) {
    run.call.operands.push_back(numbers(kernel.operands[i].dtype, points, 11 * i.number));
  }
  return run;
}

const std::vector<std::vector<std::int64_t>> kShifts = {{0}, {1}, {2}, {0, 0, 1}, {4}, {8}};

}  // namespace

TEST_CASE("point groups: neighbouring points of every dtype are vectors, at every address") {
  std::vector<Run> runs;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    const Kernel kernel = maximum(dtype, dtype, 203);
    INFO(dtype_name(dtype));
    const auto elements = static_cast<int>(16 / dtype_bytes(dtype));
    CHECK_THAT(schedule_of(kernel), ContainsSubstring(text("vectors of ", elements)));
    runs.push_back(run_of(kernel, 203));
  }
  // The widest dtype has 16 bytes.
  const Kernel mixed = maximum(kF32, DType::Int8, 203);
  CHECK_THAT(schedule_of(mixed), ContainsSubstring("vectors of 4"));
  runs.push_back(run_of(mixed, 203));
  check_runs(runs, kSmallDevice, kShifts);
}

TEST_CASE("point groups: tails of every length") {
  std::vector<Run> runs;
  const ir::Dim points = ir::Dim::fresh("points");
  for (const std::int64_t count : {1, 3, 4, 31, 32, 33, 34, 35, 64, 67, 200}) {
    Run run = run_of(maximum(kF32, kF32, points), count);
    run.call.sizes = {count};
    runs.push_back(std::move(run));
    runs.push_back(run_of(maximum(kF32, DType::Float16, count), count));
  }
  check_runs(runs, kSmallDevice, {{0}, {1}});
}

TEST_CASE("point groups: rows are vectors where their length and their strides are multiples") {
  // y[i, j] = x[i, j + offset] * row[i] + column[j], rows of x `pitch` apart
  const auto make = [](const ir::Dim& rows, const ir::Dim& columns, const ir::Dim& pitch,
                       std::int64_t offset) {
    KernelMaker k("rows", {rows, columns}, 2);
    const ExpressionId x = k.load(k.access(k.input(kF32), {pitch, 1}, offset));
    const ExpressionId row = k.load(k.access(k.input(kF32), {1, 0}));
    const ExpressionId column = k.load(k.access(k.input(kF32), {0, 1}));
    const ExpressionId sum = k.apply(Op::Add, {k.apply(Op::Mul, {x, row}), column});
    k.map({{k.access(k.output(kF32), {columns, 1}), sum}});
    return k.kernel;
  };
  const auto call = [](std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
    const std::int64_t points = rows * columns;
    return KernelCall{{numbers(kF32, rows * pitch + 8), numbers(kF32, rows, 3),
                       numbers(kF32, columns, 5), numbers(kF32, points)},
                      {},
                      0,
                      rows};
  };
  const struct {
    std::int64_t rows, columns, pitch, offset;
    const char* schedule;
  } rows[] = {{5, 12, 16, 4, "points: blocks of 4 threads over i0 i1, vectors of 4"},
              {5, 12, 16, 2, "points: blocks of 4 threads over i0 i1, vectors of 2, unroll 2"},
              {5, 12, 15, 4, "points: blocks of 4 threads over i0 i1, unroll 4"},
              {5, 14, 16, 4, "points: blocks of 4 threads over i0 i1, vectors of 2, unroll 2"},
              {5, 13, 16, 4, "points: blocks of 4 threads over i0 i1, unroll 4"},
              {1, 2, 4, 0, "points: blocks of 4 threads over i0 i1"}};
  std::vector<Run> runs;
  for (const auto& row : rows) {
    const Kernel kernel = make(row.rows, row.columns, row.pitch, row.offset);
    CHECK(schedule_of(kernel) == row.schedule);
    runs.push_back({kernel, call(row.rows, row.columns, row.pitch)});
  }
  // Sizes known at the launch.
  const ir::Dim m = ir::Dim::fresh("rows"), n = ir::Dim::fresh("columns");
  const Kernel kernel = make(m, n, n + 4, 4);
  CHECK_THAT(schedule_of(kernel), ContainsSubstring("vectors of 4"));
  for (const std::int64_t columns : {1, 8, 10, 11, 12}) {
    KernelCall known_call = call(7, columns, columns + 4);
    known_call.sizes = sizes_of(kernel, 7, columns);
    runs.push_back({kernel, known_call});
  }
  check_runs(runs, kSmallDevice, {{0}, {1}, {0, 0, 0, 2}});
}

TEST_CASE("point groups: a flipped access is no vector") {
  KernelMaker k("flip", {64}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {-1}, 63));
  k.map({{k.access(k.output(kF32), {1}), x}});
  CHECK_THAT(schedule_of(k.kernel), !ContainsSubstring("vectors"));
  check_runs({{k.kernel, {{numbers(kF32, 64), numbers(kF32, 64)}, {}, 0, 64}}}, kSmallDevice);
}

TEST_CASE("point groups: gathers of rows are vectors, and record their first bad index") {
  // y[i, j] = table[at[i], j] + other[more[i]]
  KernelMaker k("gather", {9, 8}, 2);
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {1, 0}));
  const ExpressionId row = k.load(k.access_at(k.input(kF32), {0, 1}, at, 8, 5));
  const ExpressionId more = k.load(k.access(k.input(DType::Int32), {1, 0}));
  const ExpressionId one = k.load(k.access_at(k.input(kF32), {0, 0}, more, 1, 3));
  k.map({{k.access(k.output(kF32), {8, 1}), k.apply(Op::Add, {row, one})}});
  CHECK_THAT(schedule_of(k.kernel), ContainsSubstring("vectors of 4"));
  using Ints = std::vector<std::int32_t>;
  std::vector<Run> runs;
  for (const auto& [first, second] : std::vector<std::pair<Ints, Ints>>{
           {{0, 1, 2, 3, 4, 3, 2, 1, 0}, {0, 1, 2, 0, 1, 2, 0, 1, 2}},
           {{0, 1, 2, 3, 5, 3, 6, 1, 0}, {0, 1, 2, 0, 7, 2, 0, 1, 2}},
           {{0, 1, 2, 3, 5, 3, -6, 1, 0}, {0, 1, 9, 0, 7, 2, 0, 1, 2}}}) {
    runs.push_back(
        {k.kernel,
         {{memory(first), numbers(kF32, 40), memory(second), numbers(kF32, 3), numbers(kF32, 72)},
          {},
          0,
          9}});
  }
  check_runs(runs, kSmallDevice, {{0}, {1}});
}

TEST_CASE("point groups: a vector is not loaded before an index that differs in its group") {
  // Both indices are bad at one point; the record names the one that is read first.
  KernelMaker k("mixed", {4, 8}, 2);
  const ExpressionId each = k.load(k.access(k.input(DType::Int32), {8, 1}));
  const ExpressionId found = k.load(k.access_at(k.input(kF32), {0, 0}, each, 1, 3));
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {1, 0}));
  const ExpressionId row = k.load(k.access_at(k.input(kF32), {0, 1}, at, 8, 5));
  k.map({{k.access(k.output(kF32), {8, 1}), k.apply(Op::Add, {found, row})}});
  CHECK_THAT(schedule_of(k.kernel), !ContainsSubstring("vectors"));
  std::vector<std::int32_t> indices(32, 1), rows{0, 1, 7, 2};
  indices[16] = 5;
  const Run run{
      k.kernel,
      {{memory(indices), numbers(kF32, 3), memory(rows), numbers(kF32, 40), numbers(kF32, 32)},
       {},
       0,
       4}};
  CHECK(run_interpreted(run.kernel, run.call).out_of_range.index == 5);
  check_runs({run}, kSmallDevice);
}

TEST_CASE("point groups: indices that differ in a group are looked up one by one") {
  KernelMaker k("indices", {64}, 1);
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {1}));
  const ExpressionId found = k.load(k.access_at(k.input(kF32), {0}, at, 1, 3));
  k.map({{k.access(k.output(kF32), {1}), found}});
  CHECK_THAT(schedule_of(k.kernel), ContainsSubstring("vectors of 4"));
  std::vector<std::int32_t> indices(64, 2);
  std::vector<Run> runs;
  for (const int bad : {-1, 63, 17}) {
    if (bad >= 0) indices[static_cast<std::size_t>(bad)] = bad;
    runs.push_back({k.kernel, {{memory(indices), numbers(kF32, 3), numbers(kF32, 64)}, {}, 0, 64}});
  }
  check_runs(runs, kSmallDevice, {{0}, {1}});
}

TEST_CASE("point groups: guards of rows apply to vectors, guards of elements to elements") {
  // y[i, j] = x[i - 2, j] where i >= 2; z[i, j] only where i < 5
  KernelMaker rows("padded", {7, 8}, 2);
  const ExpressionId inside =
      rows.apply(Op::LessEqual, {rows.number(DType::Int64, 2), rows.axis(0)});
  const ExpressionId x = rows.load(rows.guard(rows.access(rows.input(kF32), {8, 1}, -16), inside));
  const ExpressionId early = rows.apply(Op::Less, {rows.axis(0), rows.number(DType::Int64, 5)});
  rows.map({{rows.access(rows.output(kF32), {8, 1}), x},
            {rows.guard(rows.access(rows.output(kF32), {8, 1}), early), x}});
  CHECK_THAT(schedule_of(rows.kernel), ContainsSubstring("vectors of 4"));
  // y[i, j] = x[i, j - 4] where j >= 5
  KernelMaker elements("joined", {7, 8}, 2);
  const ExpressionId later =
      elements.apply(Op::LessEqual, {elements.number(DType::Int64, 5), elements.axis(1)});
  const ExpressionId z =
      elements.load(elements.guard(elements.access(elements.input(kF32), {8, 1}, -4), later));
  elements.map({{elements.access(elements.output(kF32), {8, 1}), z}});
  CHECK_THAT(schedule_of(elements.kernel), !ContainsSubstring("vectors"));
  // Rows of a table that begin at any element: y[i] = x[i + 4 * at[i]]
  KernelMaker indices("indices", {64}, 1);
  const ExpressionId at = indices.load(indices.access(indices.input(DType::Int32), {1}));
  const ExpressionId near = indices.load(indices.access_at(indices.input(kF32), {1}, at, 4, 3));
  indices.map({{indices.access(indices.output(kF32), {1}), near}});
  CHECK_THAT(schedule_of(indices.kernel), !ContainsSubstring("vectors"));
  std::vector<std::int32_t> any(64);
  for (std::size_t i = 0; i < any.size(); ++i) any[i] = static_cast<std::int32_t>(i % 3);
  check_runs({{rows.kernel, {{numbers(kF32, 40), numbers(kF32, 56), numbers(kF32, 56)}, {}, 0, 7}},
              {elements.kernel, {{numbers(kF32, 56), numbers(kF32, 56)}, {}, 0, 7}},
              {indices.kernel, {{memory(any), numbers(kF32, 72), numbers(kF32, 64)}, {}, 0, 64}}},
             kSmallDevice, {{0}, {1}});
}

TEST_CASE("point groups: vectors are added to memory, in place, and read again by later stages") {
  std::vector<Run> runs;
  for (const DType dtype : {kF32, DType::Float16, DType::BFloat16, DType::Int8}) {
    // y += x / 3; z = y; y = y * z
    KernelMaker k("stages", {97}, 1);
    const ExpressionId x = k.load(k.access(k.input(dtype), {1}));
    const AccessId y = k.access(k.output(dtype, true), {1}),
                   z = k.access(k.output(dtype, true), {1});
    k.map({{y, k.apply(Op::Div, {x, k.number(dtype, 3)}), true}});
    const ExpressionId sum = k.load(y), copy = k.load(z);
    k.map({{z, sum}});
    k.map({{y, k.apply(Op::Mul, {sum, copy})}});
    CHECK_THAT(schedule_of(k.kernel), ContainsSubstring("vectors of "));
    runs.push_back(run_of(k.kernel, 97));
  }
  check_runs(runs, kSmallDevice, {{0}, {1}});
}

TEST_CASE("point groups: stores to one operand keep their order") {
  // y[i] = x[i]; y[5] = 7 where i is 5
  KernelMaker k("twice", {64}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {1}));
  const OperandId y = k.output(kF32);
  const ExpressionId is_five = k.apply(Op::Equal, {k.axis(0), k.number(DType::Int64, 5)});
  k.map({{k.access(y, {1}), x}, {k.guard(k.access(y, {0}, 5), is_five), k.number(kF32, 7)}});
  check_runs({{k.kernel, {{numbers(kF32, 64), numbers(kF32, 64)}, {}, 0, 64}}}, kSmallDevice);
}

TEST_CASE("point groups: random numbers and indices are those of each element") {
  KernelMaker k("drawn", {6, 16}, 2);
  const ExpressionId element =
      k.apply(Op::Add, {k.apply(Op::Mul, {k.axis(0), k.number(DType::Int64, 16)}), k.axis(1)});
  const ExpressionId draw = k.random(kF32, k.number(DType::Int64, 5), element, 7, 9);
  const ExpressionId shifted = k.apply(Op::Add, {draw, k.convert(kF32, k.axis(1))});
  k.map({{k.access(k.output(kF32), {16, 1}), shifted}});
  CHECK_THAT(schedule_of(k.kernel), ContainsSubstring("vectors of 4"));
  KernelCall call{{numbers(kF32, 96)}, {}, 0, 6};
  call.seed = 77, call.call_counter = 3;
  check_runs({{k.kernel, call}}, kSmallDevice, {{0}, {1}});
}
