// Tests the choice of loops that are one kernel, their blocks, and the rules that they obey.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/backends/codegen/parse_kernel.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"

#include "backends/codegen/grid/shape_kernel.h"
#include "backends/codegen/plan/schedule_row_loop.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"

#include <functional>

using namespace kiln;
using namespace kiln::codegen;
using ir::Op;
using ir::Value;
using kiln::testing::has;

namespace {

using Cell = std::function<Value(const Value& h, const Value& x)>;

/// The program of h = cell(h, x[t]) over `rows` rows of `units`, for a GPU; none: scalars.
Program program_of(const ir::Dims& row, const Cell& cell, const GridDescription& device = {}) {
  ir::Dims slices = row;
  slices.insert(slices.begin(), ir::Dim::fresh("steps"));
  const Value xs = test::placeholder({DType::Float32, slices});
  const Value start = test::placeholder({DType::Float32, row});
  const ir::LambdaBuilder body({{DType::Int64, {}}, start.type(), start.type()});
  const Value next = cell(body.parameters()[1], body.parameters()[2]);
  const ir::NodeRef scan =
      ir::make_scan(body.close({next}, 1, {}), {start}, {xs}, slices[0], false);
  Compilation compilation;
  compilation.arguments = {xs, start};
  compilation.results = ir::results_of(scan);
  compilation.target = target_of(device);
  compilation.loop_transform = shape_for_grid;
  run_pipeline(compilation);
  return std::move(compilation.program);
}

Value elementwise(const Value& h, const Value& x) {
  return ir::unary(Op::Tanh, ir::binary(Op::Add, h, x));
}
/// A row becomes x times its sum, in a kernel of its own if sums have many terms.
Value summed(const Value& h, const Value& x) {
  return ir::binary(Op::Mul, x, ir::broadcast_over(ir::reduce_sum(h, {1}), x.dims(), {1}));
}
/// The sum of all rows: a loop without independent rows.
Value over_rows(const Value& h, const Value& x) {
  return ir::binary(Op::Add, x, ir::broadcast_over(ir::reduce_sum(h, {0}), x.dims(), {0}));
}

const LoopStep& loop_of(const Program& program) {
  for (const Step& step : program.plan.steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) return *loop;
  }
  throw std::runtime_error("no loop");
}

ScheduledLoop scheduled(const Program& program, const GridDescription& device = {}) {
  IdVector<KernelId, GridSchedule> schedules;
  for (const BuiltKernel& built : program.kernels) {
    schedules.push_back(schedule_grid(built.kernel, device));
  }
  return schedule_row_loop(loop_of(program), program.kernels, schedules, device, "loop0");
}

}  // namespace

TEST_CASE("row loops: small rows share a block; a large one has threads for two points each") {
  const ir::Dim rows = ir::Dim::fresh("rows");
  const struct {
    ir::Dims dims;
    Cell cell;
    int threads;
    std::int64_t rows, bytes;
  } cases[] = {
      {{rows, 1}, elementwise, 64, 64, 512},
      {{rows, 5}, elementwise, 64, 8, 320},
      {{rows, 64}, elementwise, 64, 1, 512},
      {{rows, 81}, elementwise, 128, 1, 672},
      {{rows, 2048}, elementwise, 1024, 1, 16384},
      {{}, elementwise, 64, 1, 32},
      {{40}, elementwise, 64, 64, 512},
      {{3, 5}, over_rows, 64, 1, 128},
  };
  for (const auto& one : cases) {
    INFO("case " << &one - cases);
    const Program program = program_of(one.dims, one.cell);
    INFO(print(program));
    REQUIRE(loop_of(program).fusion);
    CHECK(loop_of(program).fusion->reason.empty());
    const ScheduledLoop found = scheduled(program);
    INFO(print(found.loop));
    CHECK(found.reason.empty());
    CHECK_NOTHROW(verify(found.loop, {}));
    CHECK(found.loop.threads == one.threads);
    CHECK(found.loop.rows == one.rows);
    CHECK(found.loop.bytes == one.bytes);
  }
}

TEST_CASE("row loops: reasons of the plan") {
  const ir::Dim rows = ir::Dim::fresh("rows"), units = ir::Dim::fresh("units");
  const struct {
    ir::Dims dims;
    Cell cell;
    const char* reason;
  } cases[] = {
      {{rows, units}, elementwise, "symbolic ones"},
      {{rows, 2049}, elementwise, "more than 2048 points per row"},
      {{rows, 5}, over_rows, "symbolic ones"},
      {{1000, 5}, over_rows, "more than 2048 points per row"},
  };
  for (const auto& one : cases) {
    const Program program = program_of(one.dims, one.cell);
    INFO(print(program));
    REQUIRE(loop_of(program).fusion);
    CHECK(has(loop_of(program).fusion->reason, one.reason));
    CHECK(has(print(program), ", a kernel for each step: "));
  }
  GridDescription small;
  small.shared_bytes = 1000;
  const Program program = program_of({rows, 200}, elementwise, small);
  CHECK(loop_of(program).fusion->reason ==
        "a row needs 1600 bytes of shared memory, more than 1000");
}

TEST_CASE("row loops: rows per block and reasons follow from shared memory") {
  const ir::Dim rows = ir::Dim::fresh("rows");
  GridDescription device;
  device.shared_bytes = 300;
  const ScheduledLoop fewer = scheduled(program_of({rows, 1}, elementwise), device);
  CHECK(fewer.reason.empty());
  CHECK(fewer.loop.rows == 32);
  const Program sums = program_of({rows, 1000}, summed);
  device.shared_bytes = 8000;
  CHECK(has(scheduled(sums, device).reason, "bytes of shared memory, more than 8000"));
}

TEST_CASE("row loops: the verifier finds each broken rule") {
  const ir::Dim rows = ir::Dim::fresh("rows");
  const RowLoop whole = scheduled(program_of({rows, 100}, summed)).loop;
  INFO(kiln::test::print_whole(whole));
  CHECK(kiln::test::print_whole(kiln::test::parse_row_loop(kiln::test::print_whole(whole))) ==
        kiln::test::print_whole(whole));
  CHECK_NOTHROW(verify(whole, {}));
  const struct {
    const char* rule;
    std::function<void(RowLoop&)> breaks;
  } cases[] = {
      {"its blocks do not fit the device", [](RowLoop& loop) { loop.threads = 2048; }},
      {"its blocks have no rows", [](RowLoop& loop) { loop.rows = 0; }},
      {"ranges of its shared memory overlap", [](RowLoop& loop) { loop.bytes = 16; }},
      {"ranges of its shared memory overlap", [](RowLoop& loop) { loop.carries[0].offset = -16; }},
      {"its blocks do not fit shared memory", [](RowLoop& loop) { loop.bytes = 1 << 20; }},
      {"a step has an unknown tensor", [](RowLoop& loop) { loop.steps[0].tensors[0] = 99; }},
      {"the points of a step are not static", [](RowLoop& loop) { loop.steps[0].points = -1; }},
      {"a tensor is of an unknown carry",
       [](RowLoop& loop) {
         for (RowLoopTensor& one : loop.tensors) one.carry = 7;
         for (RowLoopTensor& one : loop.tensors) one.kind = RowLoopTensor::Kind::Carry;
       }},
      {"it writes a carry",
       [](RowLoop& loop) {
         for (RowLoopTensor& one : loop.tensors) {
           if (one.kind != RowLoopTensor::Kind::NextCarry) continue;
           one.kind = RowLoopTensor::Kind::Carry;
         }
       }},
      {"a step has blocks of another size",
       [](RowLoop& loop) {
         auto& schedule = std::get<RowLoopKernel>(loop.steps[0].work).schedule;
         schedule.teams *= 2;
         schedule.threads *= 2;
       }},
      {"an iteration ends without a barrier",
       [](RowLoop& loop) { loop.steps.back().has_barrier = false; }},
      {"steps share a tensor without a barrier",
       [](RowLoop& loop) {
         loop.steps.insert(loop.steps.begin(), loop.steps[0]);
         loop.steps[0].has_barrier = false;
       }},
      {"an operand has no tensor", [](RowLoop& loop) { loop.steps[0].tensors.pop_back(); }},
      {"the rows of a step run in order",
       [](RowLoop& loop) { std::get<RowLoopKernel>(loop.steps[0].work).schedule.axes.clear(); }},
  };
  for (const auto& one : cases) {
    INFO(one.rule);
    RowLoop broken = whole;
    one.breaks(broken);
    CHECK(has(testing::error_text<InternalError>([&] { verify(broken, {}); }), one.rule));
  }
}

TEST_CASE("row loops: barriers are between steps that share a tensor") {
  // Two carries that do not depend on each other.
  const ir::Dims row{8, 100};
  const Value xs = test::placeholder({DType::Float32, {5, 8, 100}});
  const Value c0 = test::placeholder({DType::Float32, row});
  const ir::LambdaBuilder body({{DType::Int64, {}}, c0.type(), c0.type(), c0.type()});
  const auto& p = body.parameters();
  const Value sum = ir::reduce_sum(p[1], {1}), other = ir::reduce_max(p[2], {1});
  const Value next = ir::binary(Op::Add, p[3], ir::broadcast_over(sum, row, {1}));
  const Value last = ir::binary(Op::Mul, p[3], ir::broadcast_over(other, row, {1}));
  const ir::NodeRef scan = ir::make_scan(body.close({next, last}, 1, {}), {c0, c0}, {xs}, 5, false);
  Compilation compilation;
  compilation.arguments = {xs, c0};
  compilation.results = ir::results_of(scan);
  compilation.target = target_of({});
  compilation.loop_transform = shape_for_grid;
  run_pipeline(compilation);
  const RowLoop loop = scheduled(compilation.program).loop;
  INFO(print(loop));
  REQUIRE(loop.steps.size() >= 2);
  CHECK_FALSE(loop.steps[0].has_barrier);
  CHECK(loop.steps.back().has_barrier);
  CHECK_NOTHROW(verify(loop, {}));
}
