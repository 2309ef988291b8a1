// Tests fusion by the kernels that result, and the verifier of the rules of kernel.h.
#include "tests/support/catch.h"
#include "tests/backends/codegen/kernel_interpreter.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/kernel/order_axes.h"
#include "backends/codegen/plan/plan.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

#include <kiln/error.h>

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;
using ir::Value;

namespace {

Value input(ir::Dims dims) { return test::placeholder({DType::Float32, std::move(dims)}); }

}  // namespace

TEST_CASE("fusion: an elementwise chain over any movement is one kernel with one axis") {
  const Value x = input({8, 4}), y = input({4});
  const Value chain = ir::unary(ir::Op::Tanh, x * 2.0 + ir::broadcast_to(y, {8, 4})) + x;
  const Program program = lowered({x, y}, {chain});
  REQUIRE(program.kernels.size() == 1);
  const Kernel& kernel = program.kernels.front().kernel;
  CHECK(kernel.stages.size() == 1);
  CHECK(kernel.axes.size() == 2);
  const Program flat = lowered({x}, {ir::unary(ir::Op::Exp, x + x)});
  CHECK(flat.kernels.front().kernel.axes == ir::Dims{32});
}

TEST_CASE("fusion: a value that is stored and used is computed once") {
  const Value x = input({8, 4});
  const Value h = ir::unary(ir::Op::Tanh, x), gate = ir::unary(ir::Op::Sigmoid, x + h);
  const Program program = lowered({x}, {h, gate, gate * h, h + gate});
  REQUIRE(program.kernels.size() == 1);
  const auto& list = program.kernels.front().kernel.expressions;
  for (const ir::Op op : {ir::Op::Tanh, ir::Op::Sigmoid, ir::Op::Mul}) {
    INFO(ir::def(op).name);
    CHECK(std::count_if(list.begin(), list.end(),
                        [&](const Expression& e) { return e.op == op; }) == 1);
  }
}

TEST_CASE("fusion: axes merge into one where random numbers are read in memory order") {
  const ir::Dim batch = ir::Dim::fresh("batch");
  const ir::Dims dims{batch, 5, 3};
  const Value position = test::placeholder({DType::Int64, {}}), x = input(dims), y = input({3});
  const Value drawn =
      ir::make(ir::Op::RandomUniform, ir::RandomAttrs{{DType::Float32, dims}, 1, 0}, {position});
  const auto axes = [&](const Value& result) {
    const Program program = lowered({position, x, y}, {result});
    REQUIRE(program.kernels.size() == 1);
    return program.kernels.front().kernel.axes;
  };
  CHECK(axes(drawn) == ir::Dims{batch * 15});
  CHECK(axes(drawn * x) == ir::Dims{batch * 15});
  CHECK(axes(drawn * ir::broadcast(y, dims, {2})) == ir::Dims{batch * 5, 3});
  CHECK(axes(ir::reduce_sum(drawn, {1, 2})) == ir::Dims{batch, 15});
  // iota along axis 2 needs the index of the column, too.
  const Value column = ir::iota({DType::Float32, dims}, 2);
  CHECK(axes(drawn + column) == ir::Dims{batch * 5, 3});
}

TEST_CASE("fusion: softmax is one kernel with lanes along its rows") {
  const Value x = input({ir::Dim::fresh("batch"), 10});
  const Program program = lowered({x}, {ir::softmax(x, 1)});
  REQUIRE(program.kernels.size() == 1);
  const Kernel& kernel = program.kernels.front().kernel;
  CHECK(kernel.outer == 1);
  CHECK(kernel.vector_axis == 1);
  REQUIRE(kernel.stages.size() == 3);
  CHECK(kernel.stages.front().combiner == Combiner::Max);
  CHECK(kernel.stages[StageId(1)].combiner == Combiner::Sum);
  // The exponential is kept in the memory of the result.
  CHECK(kernel.stages[StageId(1)].stores.size() == 1);
  const auto exps = std::count_if(kernel.expressions.begin(), kernel.expressions.end(),
                                  [](const Expression& e) { return e.op == ir::Op::Exp; });
  CHECK(exps == 1);
}

namespace {

/// Counts loads and stores with a guard, and stores that add to memory.
struct AccessCounts {
  int loads = 0, stores = 0, added = 0;
};

AccessCounts guarded_accesses(const Program& program) {
  AccessCounts counts;
  for (const BuiltKernel& built : program.kernels) {
    const Kernel& kernel = built.kernel;
    const auto guarded = [&](AccessId access) { return bool(kernel.accesses[access].when); };
    for (const Expression& e : kernel.expressions) {
      counts.loads += e.kind == ExpressionKind::Load && guarded(e.access);
    }
    for (const Stage& stage : kernel.stages) {
      for (const Store& store : stage.stores) {
        counts.stores += guarded(store.access);
        counts.added += store.accumulate;
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("fusion: a pad and its consumers are one kernel without a fill") {
  const Value x = input({6, 5}), b = input({9, 8});
  const Value zero = ir::scalar_constant(DType::Float32, 0);
  const Value padded = ir::pad(x, zero, {1, 0}, {2, 3}, {0, 0});
  const Program program = lowered({x, b}, {ir::unary(ir::Op::Exp, padded + b)});
  REQUIRE(program.kernels.size() == 1);
  CHECK(program.plan.slots.size() == 3);
  CHECK(guarded_accesses(program).loads == 1);
  // Interior padding: axes are split, so that every access is affine.
  const Program spread = lowered({x}, {ir::pad(x, zero, {1, 0}, {2, 3}, {2, 0})});
  REQUIRE(spread.kernels.size() == 1);
  const AccessCounts counts = guarded_accesses(spread);
  CHECK((counts.loads == 1 && counts.stores == 1));
}

TEST_CASE("fold: one gather computes windows that overlap or leave gaps") {
  struct Row {
    ir::Dims dims;  // of x
    ir::FoldAttrs attrs;
    int guarded_stores, outer, inner;
  };
  const ir::Dim batch = ir::Dim::fresh("batch");
  const Row rows[] = {
      {{4, 7, 3}, {{1}, {9}, {1}, {1}}, 0, 2, 1},              // stride 1: axes of the result
      {{4, 7, 3}, {{1}, {15}, {2}, {1}}, 1, 3, 1},             // 15 = 2 * 8 - 1
      {{4, 7, 3}, {{1}, {16}, {2}, {1}}, 0, 3, 1},
      {{4, 7, 2}, {{1}, {21}, {3}, {1}}, 0, 3, 0},             // gaps
      {{batch, 4, 4, 8, 3, 3}, {{1, 2}, {9, 9}, {2, 2}, {1, 1}}, 1, 6, 2},
      {{4, 7, 3}, {{1}, {40}, {4}, {6}}, 1, 4, 1},             // a common divisor
  };
  for (const Row& row : rows) {
    INFO("row " << &row - rows);
    const Value x = input(row.dims);
    const Program program = lowered({x}, {ir::fold(x, row.attrs)});
    REQUIRE(program.kernels.size() == 1);
    const AccessCounts counts = guarded_accesses(program);
    CHECK((counts.loads == 1 && counts.added == 0));
    CHECK(counts.stores == row.guarded_stores);
    const Kernel& kernel = program.kernels.front().kernel;
    CHECK(kernel.outer == row.outer);
    CHECK(static_cast<int>(kernel.axes.size()) - kernel.outer == row.inner);
  }
  // Windows without overlap are written in place by their producer.
  const Value x = input({4, 7, 3});
  const Program tiles = lowered({x}, {ir::fold(ir::unary(ir::Op::Exp, x), {{1}, {21}, {3}, {1}})});
  REQUIRE(tiles.kernels.size() == 1);
  CHECK(guarded_accesses(tiles).loads == 0);
}

TEST_CASE("loop rows: independent where the body pads rows, dependent where it moves them") {
  const Value h = input({64, 4});
  const Value zero = ir::scalar_constant(DType::Float32, 0);
  for (const bool moves_rows : {false, true}) {
    const ir::LambdaBuilder builder({{DType::Int64, {}}, h.type()});
    const Value inside = ir::unary(ir::Op::Tanh, builder.parameters()[1]);
    // Columns 1 and 2 become columns 2 and 3; or rows 1 to 63 become rows 0 to 62.
    const Value part = moves_rows ? ir::slice(inside, {1, 0}, {64, 4}, {1, 1})
                                  : ir::slice(inside, {0, 1}, {64, 3}, {1, 1});
    const Value next = moves_rows ? ir::pad(part, zero, {0, 0}, {1, 0}, {0, 0})
                                  : ir::pad(part, zero, {0, 2}, {0, 0}, {0, 0});
    const Value last =
        ir::make_scan(builder.close({inside * 0.5 + next}, 1), {h}, {}, 3, false)->result();
    const Program program = lowered({h}, {last});
    CHECK(guarded_accesses(program).loads == 1);
    const bool apart = print(program).find("64 independent rows") != std::string::npos;
    CHECK(apart == !moves_rows);
  }
}

TEST_CASE("concat: parts are written in place") {
  const Value x = input({8, 4});
  const Value parts = ir::concat({ir::unary(ir::Op::Exp, x), ir::unary(ir::Op::Sin, x)}, 1);
  const Program program = lowered({x}, {parts});
  REQUIRE(program.kernels.size() == 1);
  CHECK(program.kernels.front().kernel.operands.size() == 2);
  CHECK(program.plan.slots.size() == 2);
}

TEST_CASE("fusion: updates that read the same tensors are one kernel") {
  const Value g = input({100}), m = input({100}), v = input({100});
  const Value next_m = m * 0.9 + g * 0.1, next_v = v * 0.99 + g * g * 0.01;
  const Program program = lowered({g, m, v}, {next_m, next_v});
  CHECK(program.kernels.size() == 1);
}

TEST_CASE("fusion: a reshape is no copy; a reduction and its use at every point are one kernel") {
  const Value x = input({6, 4});
  const Value mean = ir::reduce_sum(x, {1}) * 0.25;
  const Value centred = x - ir::broadcast_over(mean, {6, 4}, {1});
  const Program program = lowered({x}, {ir::reshape(centred, {24})});
  CHECK(program.kernels.size() == 1);
  CHECK(program.plan.steps.size() == 1);
}

TEST_CASE("running values: lanes lie along the axis of neighbouring elements") {
  const Value x = input({64, 20});
  const auto kernel = [&](int axis) {
    const Value running = ir::make(ir::Op::CumSum, ir::AxisAttrs{axis}, {x});
    const Program program = lowered({x}, {running});
    REQUIRE(program.kernels.size() == 1);
    return program.kernels.front().kernel;
  };
  const Kernel rows = kernel(1), columns = kernel(0);
  CHECK(rows.vector_axis == 1);
  CHECK(rows.outer == 1);
  CHECK(columns.vector_axis == 0);
  CHECK(columns.outer == 1);
}

TEST_CASE("lanes: the axis along which a map reads across its lanes") {
  const Value x = input({4, 5, 6}), y = input({6, 5, 4});
  const auto axis = [&](const Value& result) {
    const Program program = lowered({x, y}, {result});
    REQUIRE(program.kernels.size() == 1);
    return across_axis(program.kernels.front().kernel);
  };
  CHECK(axis(x + x) == -1);
  CHECK(axis(ir::permute(x, {2, 1, 0})) == 0);
  CHECK(axis(ir::permute(x, {2, 1, 0}) + y) == 0);
  CHECK(axis(ir::permute(x, {0, 2, 1})) == 1);
  CHECK(axis(ir::permute(x, {1, 0, 2})) == -1);
  CHECK(axis(ir::reduce_sum(x, {0})) == -1);
}

TEST_CASE("reductions: column sums are computed by the row-wise kernel, in blocks") {
  const Value x = input({64, 20}), w = input({64, 20});
  const Value mean = ir::reduce_sum(x, {1}) * (1.0 / 20);
  const Value centred = x - ir::broadcast_over(mean, x.dims(), {1});
  const Program program =
      lowered({x, w}, {centred, ir::reduce_sum(centred * w, {0}), ir::reduce_sum(w, {0})});
  // The zeros of the blocks, the rows, the sums of the blocks: 64 rows are read only once.
  std::size_t over_rows = 0;
  for (const BuiltKernel& built : program.kernels) {
    const ir::Dims& axes = built.kernel.axes;
    over_rows += std::count(axes.begin(), axes.end(), ir::Dim(64)) != 0;
    if (axes.size() != 3) continue;
    CHECK(axes == ir::Dims{8, 8, 20});
    CHECK(built.kernel.outer == 2);
    CHECK(built.kernel.vector_axis == 2);
  }
  CHECK(over_rows == 0);
  CHECK(program.kernels.size() == 5);
}

TEST_CASE("reductions: few results are computed row by row first") {
  const Value x = input({ir::Dim::fresh("batch"), 28, 28, 32});
  const Program program = lowered({x}, {ir::reduce_sum(x * x, {0, 1, 2})});
  REQUIRE(program.kernels.size() == 2);
  const Kernel& first = program.kernels.front().kernel;
  CHECK(first.axes[0] == x.dims()[0]);
  CHECK(first.outer == 2);
  // Enough results for every thread.
  const Value wide = input({16, 8, 1024});
  CHECK(lowered({wide}, {ir::reduce_sum(wide, {0, 1})}).kernels.size() == 1);
}

TEST_CASE("sizes: those that guards hold equal become one symbol") {
  const Value x = input({ir::Dim::fresh("a"), 3}), y = input({ir::Dim::fresh("b"), 3});
  const Value sum = x + ir::with_dims(y, x.dims());
  const std::vector<Value> results{sum};
  const SizeNames names(ir::collect_guards(results));
  CHECK(names(x.dims()) == names(y.dims()));
}

TEST_CASE("verifier: the error names the kernel and the broken rule") {
  const Value x = input({8, 4});
  Kernel kernel = lowered({x}, {ir::softmax(x, 1)}).kernels.front().kernel;
  CHECK_NOTHROW(verify(kernel));
  CHECK(print(kernel).find("stage 0: reduce over inner axes, max of v0") != std::string::npos);
  Kernel broken = kernel;
  broken.expressions[ExpressionId(1)].arguments[0] = ExpressionId(99);
  CHECK_THROWS_AS(verify(broken), InternalError);
  broken = kernel;
  broken.accesses.front().strides.pop_back();
  CHECK_THROWS_WITH(verify(broken),
                    Catch::Matchers::ContainsSubstring("strides are not one per axis"));
  broken = kernel;
  broken.outer = 0;
  broken.stages.front().combiner = Combiner::None;
  CHECK_THROWS_AS(verify(broken), InternalError);
}

TEST_CASE("kernels: vectors of sums run along the axis with the nearest accesses") {
  const Value x = input({8, 16, 32}), w = input({8, 16}), v = input({32});
  const Value e = input({64, 24}), r = input({64});
  const struct {
    const char* summed;
    Value sum;
    ir::Dim expected;  // the size of the vector axis
  } rows[] = {
      {"over j of x[i,j,k]", ir::reduce_sum(x, {1}), 32},
      {"over k of x[i,j,k]", ir::reduce_sum(x, {2}), 32},
      {"over j of x[i,j,k] w[i,j]", ir::reduce_sum(x * ir::broadcast(w, x.dims(), {0, 1}), {1}),
       32},
      {"over k of x[i,j,k] v[k]", ir::reduce_sum(x * ir::broadcast_to(v, x.dims()), {2}), 32},
      {"over i of exp(e[i,j]) r[i]",
       ir::reduce_sum(ir::unary(ir::Op::Exp, e) * ir::broadcast(r, e.dims(), {0}), {0}), 24},
  };
  for (const auto& row : rows) {
    INFO(row.summed);
    const Program program = lowered({x, w, v, e, r}, {row.sum});
    REQUIRE(program.kernels.size() == 1);
    const Kernel& kernel = program.kernels.front().kernel;
    REQUIRE(kernel.vector_axis >= 0);
    CHECK(kernel.axes[static_cast<std::size_t>(kernel.vector_axis)] == row.expected);
  }
}
