// Tests the choice of schedules, as text, and their verifier.
#include "tests/backends/cpu_llvm/large_kernels.h"
#include "tests/support/catch.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

std::string schedule_text(const Kernel& kernel, cpu::Isa isa = cpu::Isa::Avx512) {
  return print(kernel, schedule_of(kernel, isa));
}

}  // namespace

TEST_CASE("schedule: softmax prefetches rows in the loop with the most operations") {
  KernelMaker k("softmax", {64, 1024}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {1024, 1}));
  const ExpressionId maximum = k.result(k.reduce(Combiner::Max, x));
  const ExpressionId share = k.apply(Op::Exp, {k.apply(Op::Sub, {x, maximum})});
  const ExpressionId sum = k.result(k.reduce(Combiner::Sum, share));
  k.map({{k.access(k.output(kF32), {1024, 1}), k.apply(Op::Div, {share, sum})}});
  k.kernel.vector_axis = 1;
  CHECK(schedule_text(k.kernel) ==
        "64 lanes along i1 in 4 vectors; loops of stages 0, 1, 2; one vector in loops of maps; "
        "prefetch b0 at a0 of stage 2, 4096 bytes ahead; prefetch b1 at a1 of stage 2, 4096 bytes "
        "ahead; exp of nonpositive v3; divide by an invariant v5; v5 of stage 2 divides a share; "
        "stage 0 drops NaN");
  CHECK(schedule_text(k.kernel, cpu::Isa::Avx2) ==
        "32 lanes along i1 in 4 vectors; loops of stages 0, 1, 2; one vector in loops of maps; "
        "prefetch b0 at a0 of stage 2, 4096 bytes ahead; prefetch b1 at a1 of stage 2, 4096 bytes "
        "ahead; exp of nonpositive v3; divide by an invariant v5; v5 of stage 2 divides a share; "
        "stage 0 drops NaN");
  CHECK(schedule_text(k.kernel, cpu::Isa::Baseline) ==
        "16 lanes along i1 in 4 vectors; loops of stages 0, 1, 2; one vector in loops of maps; "
        "prefetch b0 at a0 of stage 2, 4096 bytes ahead; prefetch b1 at a1 of stage 2, 4096 bytes "
        "ahead; stage 0 drops NaN");
}

TEST_CASE("schedule: each loop over a row prefetches one of its operands") {
  KernelMaker k("deviations", {64, 1024}, 1);
  const OperandId x = k.input(kF32), z = k.input(kF32), y = k.output(kF32);
  const ExpressionId left = k.load(k.access(x, {1024, 1})), right = k.load(k.access(z, {1024, 1}));
  const StageId sum = k.reduce(Combiner::Sum, k.apply(Op::Mul, {left, right}));
  const ExpressionId apart = k.apply(Op::Sub, {k.apply(Op::Sub, {left, right}), k.result(sum)});
  const StageId all = k.reduce(Combiner::Sum, k.apply(Op::Abs, {apart}));
  k.map({{k.access(y, {1, 0}), k.result(all)}}, /*inner=*/false);
  k.kernel.vector_axis = 1;
  CHECK(schedule_text(k.kernel) ==
        "64 lanes along i1 in 4 vectors; loops of stages 0, 1, 2; one vector in loops of maps; "
        "prefetch b0 at a0 of stage 1, 4096 bytes ahead; prefetch b1 at a1 of stage 0, 4096 bytes "
        "ahead");
}

TEST_CASE("schedule: the text of each decision") {
  CHECK(schedule_text(centred(kF32, kRows, 80, 80).kernel) ==
        "64 lanes along i1 in 4 vectors; loops of stages 0, 1; stream b1; prefetch b0 at a0 of "
        "stage 1, "
        "320 bytes ahead");
  CHECK(schedule_text(rewritten(kF32, kRows, 1000, 1000).kernel) ==
        "64 lanes along i1 in 4 vectors; loops of stages 0, 1; stream b1 from a scratch row; "
        "prefetch b0 "
        "at a0 of stage 0, 4000 bytes ahead");
  CHECK(schedule_text(down_columns(3, 64).kernel) ==
        "64 lanes along i1 in 4 vectors; loops of stages 0-1, 2; stream b1");
  CHECK(
      schedule_text(down_columns(100, 64).kernel) ==
      "64 lanes along i1 in 4 vectors; loops of stages 0-1, 2; stream b1; prefetch b0 at a0, 2048 "
      "bytes ahead");
  CHECK(schedule_text(transposed(64, 1 << 15).kernel, cpu::Isa::Avx2) ==
        "16 lanes along i1 in 2 vectors; blocks of 64 rows along i0 with tiles of a1; stream b1");
  KernelMaker k("sum", {1 << 17}, 0);
  const StageId sum = k.reduce(Combiner::Sum, k.load(k.access(k.input(kF32), {1})));
  k.map({{k.access(k.output(kF32), {0}), k.result(sum)}}, /*inner=*/false);
  CHECK(schedule_text(k.kernel) == "scalar; loops of stages 0, 1; sums in parts of 256 along i0");
  k.kernel.vector_axis = 0;
  CHECK(
      schedule_text(k.kernel) ==
      "64 lanes along i0 in 4 vectors; loops of stages 0, 1; one vector in loops of maps; sums in "
      "parts of 16384 along i0");
  // y[i, j] = table[index[i], j]
  KernelMaker g("gather", {1000, 64}, 2);
  const ExpressionId index = g.load(g.access(g.input(DType::Int32), {1, 0}));
  const ExpressionId row = g.load(g.access_at(g.input(kF32), {0, 1}, index, 64, 50000));
  g.map({{g.access(g.output(kF32), {64, 1}), row}});
  g.kernel.vector_axis = 1;
  CHECK(schedule_text(g.kernel) ==
        "16 lanes along i1; prefetch 256 bytes of later rows of a1 along i0; check rows of a1 once "
        "along "
        "i0");
}

TEST_CASE("schedule: verify names the kernel and the violated rule") {
  const Kernel kernel = rewritten(kF32, kRows, 1000, 1000).kernel;
  const cpu::CpuDescription avx512 = cpu::description_of(cpu::target_of(cpu::Isa::Avx512));
  const auto rejects = [&](const char* message, auto change) {
    cpu::CpuSchedule schedule = schedule_of(kernel);
    change(schedule);
    CHECK_THROWS_WITH(verify(kernel, schedule, avx512),
                      Catch::Matchers::ContainsSubstring("kernel rewritten: ") &&
                          Catch::Matchers::ContainsSubstring(message));
  };
  using cpu::CpuSchedule;
  rejects("lanes do not fill registers", [](CpuSchedule& s) { s.lanes = 24; });
  rejects("lanes are not along the vector axis", [](CpuSchedule& s) { s.lanes_are_outer = true; });
  rejects("groups are not all stages in order", [](CpuSchedule& s) { s.groups.pop_back(); });
  rejects("tiles without lanes inside",
          [](CpuSchedule& s) { s.tiles = {.axis = 0, .rows = 16, .tiled = {false, false}}; });
  rejects("it reads a streamed operand", [](CpuSchedule& s) { s.streams.scratch_operand = {}; });
  rejects("a prefetch of another operand",
          [](CpuSchedule& s) { s.prefetches.front().access = AccessId(1); });
  rejects("a row is checked where its index", [](CpuSchedule& s) { s.checked_rows.front() = 1; });
  rejects("it is no exp",
          [](CpuSchedule& s) { s.short_forms.front() = cpu::ShortForm::ExpOfNonpositive; });
  rejects("a form of maxima",
          [](CpuSchedule& s) { s.minmax_forms[StageId(1)] = cpu::MinMaxForm::DropsNan; });
}
