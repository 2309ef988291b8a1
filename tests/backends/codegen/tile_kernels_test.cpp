// Tests kernels without inner axes that run in tiles: transposes, alone and fused.
#include "tests/support/catch.h"
#include "tests/backends/codegen/point_checks.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

/// y[j, i] = x[i, j] of rows x columns.
Kernel transpose(const ir::Dim& rows, const ir::Dim& columns, DType dtype = kF32) {
  KernelMaker k("transpose", {columns, rows}, 2);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1, columns}));
  k.map({{k.access(k.output(dtype), {rows, 1}), x}});
  return k.kernel;
}

Run transpose_run(std::int64_t rows, std::int64_t columns, DType dtype = kF32) {
  return {transpose(rows, columns, dtype),
          {{numbers(dtype, rows * columns), numbers(dtype, rows * columns, 9)}, {}, 0, columns}};
}

}  // namespace

TEST_CASE("tiles: transposes of every size") {
  std::vector<Run> runs;
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{
           {32, 32}, {16, 16}, {33, 40}, {64, 31}, {70, 100}, {17, 200}}) {
    runs.push_back(transpose_run(rows, columns));
    CHECK(schedule_of(runs.back().kernel, kTwoWarps) ==
          "tile: blocks of 64 threads over i0 i1, rows along i0");
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    runs.push_back(transpose_run(35, 37, static_cast<DType>(i)));
  }
  const ir::Dim m = ir::Dim::fresh("rows"), n = ir::Dim::fresh("columns");
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 70}, {70, 1}, {33, 65}}) {
    Run run = transpose_run(rows, columns);
    run.kernel = transpose(m, n);
    run.call.sizes = sizes_of(run.kernel, rows, columns);
    runs.push_back(std::move(run));
  }
  check_runs(runs, kTwoWarps, {{0}, {1}});
  // Too few columns or threads.
  CHECK_THAT(schedule_of(transpose(100, 15), kTwoWarps), ContainsSubstring("points: "));
  CHECK_THAT(schedule_of(transpose(15, 100), kTwoWarps), ContainsSubstring("points: "));
  CHECK_THAT(schedule_of(transpose(100, 100)), ContainsSubstring("points: "));
}

TEST_CASE("tiles: batches with other operands and guards") {
  // y[b, c, p] = x[b, p, c] * scale[c] + y_old[b, c, p], from channels last to channels first;
  // z only where p < 30; x where c >= 3
  KernelMaker k("channels", {3, 20, 37}, 3);
  const ExpressionId above = k.apply(Op::LessEqual, {k.number(DType::Int64, 3), k.axis(1)});
  const ExpressionId x = k.load(k.guard(k.access(k.input(kF32), {740, 1, 20}), above));
  const ExpressionId scale = k.load(k.access(k.input(kF32), {0, 1, 0}));
  const AccessId y = k.access(k.output(kF32, true), {740, 37, 1});
  const ExpressionId value = k.apply(Op::Add, {k.apply(Op::Mul, {x, scale}), k.load(y)});
  const ExpressionId below = k.apply(Op::Less, {k.axis(2), k.number(DType::Int64, 30)});
  k.map({{y, value}, {k.guard(k.access(k.output(kF32), {740, 37, 1}), below), value}});
  CHECK(schedule_of(k.kernel, kTwoWarps) ==
        "tile: blocks of 64 threads over i0 i1 i2, rows along i1");
  check_runs({{k.kernel,
               {{numbers(kF32, 2220), numbers(kF32, 20), numbers(kF32, 2220), numbers(kF32, 2220)},
                {},
                0,
                3}}},
             kTwoWarps, {{0}, {1}});
}

TEST_CASE("tiles: transposed stores and transposed additions") {
  // y[i, j] = 3 * x[i, j]; z[j, i] += x[i, j], where i >= 2; w[j, i] = x[i, j] > 5
  KernelMaker k("both", {40, 50}, 2);
  const ExpressionId x = k.load(k.access(k.input(kF32), {50, 1}));
  const ExpressionId late = k.apply(Op::LessEqual, {k.number(DType::Int64, 2), k.axis(0)});
  const AccessId z = k.guard(k.access(k.output(kF32, true), {1, 40}), late);
  const ExpressionId is_large = k.apply(Op::Less, {k.number(kF32, 5), x});
  k.map({{k.access(k.output(kF32), {50, 1}), k.apply(Op::Mul, {x, k.number(kF32, 3)})},
         {z, x, true},
         {k.access(k.output(DType::Bool), {1, 40}), is_large}});
  // y[j, i] = x[j, i] * y[j, i], in place and transposed, with a store that is not.
  KernelMaker own("own", {40, 50}, 2);
  const AccessId all = own.access(own.output(kF32, true), {1, 40});
  const ExpressionId other = own.load(own.access(own.input(kF32), {50, 1}));
  own.map({{all, own.apply(Op::Mul, {own.load(all), other})}});
  const Memory square = numbers(kF32, 2000), more = numbers(kF32, 2000, 8);
  for (const Kernel& kernel : {k.kernel, own.kernel}) {
    CHECK_THAT(schedule_of(kernel, kTwoWarps), ContainsSubstring("rows along i0"));
  }
  check_runs({{k.kernel, {{square, more, square, numbers(DType::Bool, 2000)}, {}, 0, 40}},
              {own.kernel, {{square, more}, {}, 0, 40}}},
             kTwoWarps, {{0}, {1}});
}

TEST_CASE("tiles: only for whole tensors, without dynamic indices and loaded guards") {
  const auto schedule = [](const auto& change) {
    KernelMaker k("rejected", {40, 50}, 2);
    const AccessId x = k.access(k.input(kF32), {1, 40}), y = k.access(k.output(kF32), {50, 1});
    change(k, x, y);
    return schedule_of(k.kernel, kTwoWarps);
  };
  CHECK_THAT(schedule([](KernelMaker& k, AccessId x, AccessId y) { k.map({{y, k.load(x)}}); }),
             ContainsSubstring("tile: "));
  KernelMaker repeated("repeated", {9, 40, 50}, 3);
  const ExpressionId small = repeated.load(repeated.access(repeated.input(kF32), {0, 1, 40}));
  repeated.map({{repeated.access(repeated.output(kF32), {2000, 50, 1}), small}});
  CHECK_THAT(schedule_of(repeated.kernel, kTwoWarps), ContainsSubstring("points: "));
  CHECK_THAT(schedule([](KernelMaker& k, AccessId x, AccessId y) {
               const ExpressionId at = k.load(k.access(k.input(DType::Int32), {0, 1}));
               const ExpressionId one = k.load(k.access_at(k.input(kF32), {0, 0}, at, 1, 9));
               k.map({{y, k.apply(Op::Add, {k.load(x), one})}});
             }),
             ContainsSubstring("points: "));
  CHECK_THAT(schedule([](KernelMaker& k, AccessId x, AccessId y) {
               k.map({{y, k.load(x)}});
               k.map({{y, k.load(x)}});
             }),
             ContainsSubstring("points: "));
  CHECK_THAT(schedule([](KernelMaker& k, AccessId x, AccessId y) {
               const ExpressionId is_wanted = k.load(k.access(k.input(DType::Bool), {0, 1}));
               k.map({{y, k.load(k.guard(x, is_wanted))}});
             }),
             ContainsSubstring("points: "));
}
