// Tests kernels of every form, written by hand, against the values that they must leave.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/host/loop_order/order_loops.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;
using Longs = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("map: strides, offsets, a part of axis 0, and sizes of the call") {
  const ir::Dim rows = ir::Dim::fresh("rows"), columns = ir::Dim::fresh("columns");
  KernelMaker k("transposed", {rows, columns}, 2);
  const OperandId x = k.input(kF32), y = k.output(kF32);
  // y[j, i] = x[i, last - j] + j * columns
  const AccessId from = k.access(x, {columns, -1}, columns + -1);
  const AccessId to = k.access(y, {1, rows});
  const ExpressionId shift = k.convert(kF32, k.apply(Op::Mul, {k.axis(1), k.size(columns)}));
  k.map({{to, k.apply(Op::Add, {k.load(from), shift})}});
  std::vector<std::int64_t> sizes;
  for (const ir::Dim& dim : k.kernel.sizes) {
    sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
      return std::optional<std::int64_t>(symbol.name.find("rows") == 0 ? 3 : 2);
    }));
  }
  const KernelCall call{{memory(Floats{1, 2, 3, 4, 5, 6}), memory(Floats(6, -1))}, sizes, 1, 3};
  const Floats y_values = elements<float>(run_all_ways(k.kernel, call).operands[1]);
  CHECK(y_values == Floats{-1, 4, 6, -1, 3 + 2, 5 + 2});
}

TEST_CASE("softmax: three stages per row") {
  KernelMaker k("softmax", {2, 3}, 1);
  const OperandId x = k.input(kF32), y = k.output(kF32);
  const AccessId in = k.access(x, {3, 1}), out = k.access(y, {3, 1});
  const ExpressionId value = k.load(in);
  const StageId highest = k.reduce(Combiner::Max, value);
  const ExpressionId centred = k.apply(Op::Sub, {value, k.result(highest)});
  const ExpressionId power = k.apply(Op::Exp, {centred});
  const StageId sum = k.reduce(Combiner::Sum, power);
  k.map({{out, k.apply(Op::Div, {power, k.result(sum)})}});
  const Floats rows{1, 2, 3, 1000, 1000, -1000};
  const KernelCall call{{memory(rows), memory(Floats(6))}, {}, 0, 2};
  const KernelOutcome one = run_interpreted(k.kernel, call);
  const KernelOutcome other = run_as_text({k.kernel}, {call})[0];
  for (const KernelOutcome* outcome : {&one, &other}) {
    const Floats found = elements<float>(outcome->operands[1]);
    const double all = std::exp(-2.0) + std::exp(-1.0) + 1;
    for (int i = 0; i < 3; ++i) {
      CHECK(found[static_cast<std::size_t>(i)] == Approx(std::exp(i - 2.0) / all).epsilon(1e-6));
    }
    CHECK((Floats{found.begin() + 3, found.end()} == Floats{0.5f, 0.5f, 0}));
  }
}

TEST_CASE("reduction: the next stage reads a value that its stage stored at each point") {
  KernelMaker k("kept", {2, 2}, 1);
  const OperandId x = k.input(kF32), y = k.output(kF32, true);
  const AccessId in = k.access(x, {2, 1}), out = k.access(y, {2, 1});
  const ExpressionId value = k.load(in);
  const ExpressionId square = k.apply(Op::Mul, {value, value});
  const StageId sum = k.reduce(Combiner::Sum, square, {{out, square, false}});
  k.map({{out, k.apply(Op::Div, {k.load(out), k.result(sum)})}});
  const KernelCall call{{memory(Floats{1, 3, 2, 2}), memory(Floats(4))}, {}, 0, 2};
  CHECK(elements<float>(run_all_ways(k.kernel, call).operands[1]) ==
        Floats{0.1f, 0.9f, 0.5f, 0.5f});
}

TEST_CASE("reduction: columns are stored once for each outer point") {
  KernelMaker k("columns", {3, 2}, 1);  // outer: the column
  const OperandId x = k.input(kF32), sums = k.output(DType::Float64), lows = k.output(kF32);
  const ExpressionId value = k.load(k.access(x, {1, 3}));
  const StageId sum = k.reduce(Combiner::Sum, k.convert(DType::Float64, value));
  const StageId low = k.reduce(Combiner::Min, value);
  const StageId product = k.reduce(Combiner::Prod, value);
  const AccessId at_sum = k.access(sums, {1, 0}), at_low = k.access(lows, {1, 0});
  k.map({{at_sum, k.result(sum)}, {at_low, k.apply(Op::Add, {k.result(low), k.result(product)})}},
        false);
  const KernelCall call{
      {memory(Floats{1, 2, kNan, 4, -5, 6}), memory(std::vector<double>(3)), memory(Floats(3))},
      {},
      0,
      3};
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  const auto sums_found = elements<double>(outcome.operands[1]);
  const auto rest = elements<float>(outcome.operands[2]);
  CHECK((sums_found[0] == 5 && sums_found[1] == -3 && std::isnan(sums_found[2])));
  CHECK((rest[0] == 5 && rest[1] == -15 && std::isnan(rest[2])));
}

TEST_CASE("reduction: no points give the neutral value") {
  const ir::Dim none = ir::Dim::fresh("none");
  KernelMaker k("nothing", {none}, 0);
  const OperandId x = k.input(kF32), y = k.output(kF32);
  const ExpressionId value = k.load(k.access(x, {1}));
  std::vector<Store> stores;
  int offset = 0;
  for (Combiner combiner : {Combiner::Sum, Combiner::Prod, Combiner::Max, Combiner::Min}) {
    const StageId stage = k.reduce(combiner, value);
    stores.push_back({k.access(y, {0}, offset++), k.result(stage)});
  }
  k.map(stores, false);
  const KernelCall call{{memory(Floats{}), memory(Floats(4))}, {0}, 0, 1};
  CHECK(elements<float>(run_all_ways(k.kernel, call).operands[1]) ==
        Floats{0, 1, -kInfinity, kInfinity});
}

TEST_CASE("running values: sums and products store every step, backwards too") {
  KernelMaker k("running", {2, 4}, 1);
  const OperandId x = k.input(DType::Int32), y = k.output(DType::Int32), z = k.output(DType::Int32);
  const StageId sum = k.running(Combiner::Sum, k.load(k.access(x, {4, 1})), {});
  k.kernel.stages.back().stores.push_back({k.access(y, {4, 1}), k.result(sum)});
  const StageId product = k.running(Combiner::Prod, k.load(k.access(x, {4, -1}, 3)), {});
  k.kernel.stages.back().stores.push_back({k.access(z, {4, -1}, 3), k.result(product)});
  using Ints = std::vector<std::int32_t>;
  const KernelCall call{
      {memory(Ints{1, 2, 3, 4, 5, 0, -1, 2}), memory(Ints(8)), memory(Ints(8))}, {}, 0, 2};
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  CHECK(elements<std::int32_t>(outcome.operands[1]) == Ints{1, 3, 6, 10, 5, 5, 4, 6});
  CHECK(elements<std::int32_t>(outcome.operands[2]) == Ints{24, 24, 12, 4, 0, 0, -2, 2});
}

TEST_CASE("argmax: the first of equals, NaN before all, and the lowest value") {
  KernelMaker k("argmax", {4, 3}, 1);
  const OperandId x = k.input(kF32), y = k.output(DType::Int64);
  const StageId stage = k.reduce(Combiner::ArgMax, k.load(k.access(x, {3, 1})));
  k.map({{k.access(y, {1, 0}), k.result(stage)}}, false);
  const KernelCall call{{memory(Floats{1, 7, 7, 5, kNan, kNan, -kInfinity, -kInfinity, -1,
                                       -kInfinity, -kInfinity, -kInfinity}),
                         memory(Longs(4))},
                        {},
                        0,
                        4};
  CHECK(elements<std::int64_t>(run_all_ways(k.kernel, call).operands[1]) == Longs{1, 1, 2, 0});
}

TEST_CASE("gather: the first index out of range is reported and reads zero") {
  KernelMaker k("gather", {4, 2}, 2);
  const OperandId table = k.input(kF32), at = k.input(DType::Int32), y = k.output(kF32);
  const ExpressionId row = k.load(k.access(at, {1, 0}));
  const AccessId table_access = k.access_at(table, {0, 1}, row, 2, 3);
  const ExpressionId value = k.load(table_access);
  k.map({{k.access(y, {2, 1}), value}});
  KernelCall call{{memory(Floats{1, 2, 3, 4, 5, 6}), memory(std::vector<std::int32_t>{2, 3, -1, 0}),
                   memory(Floats(8, 9))},
                  {},
                  0,
                  4};
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  CHECK(elements<float>(outcome.operands[2]) == Floats{5, 6, 0, 0, 0, 0, 1, 2});
  CHECK(outcome.out_of_range.access == table_access.number);
  CHECK(outcome.out_of_range.index == 3);
  CHECK(outcome.out_of_range.limit == 3);
  call.operands[1] = memory(std::vector<std::int32_t>{2, 1, 1, 0});
  CHECK(run_all_ways(k.kernel, call).out_of_range.access == -1);
}

TEST_CASE("guard: it limits loads, stores and index checks") {
  KernelMaker k("guarded", {6}, 1);
  const OperandId x = k.input(kF32), table = k.input(kF32), at = k.input(DType::Int32);
  const OperandId y = k.output(kF32), z = k.output(kF32);
  const ExpressionId index = k.apply(Op::Add, {k.axis(0), k.number(DType::Int64, -2)});
  const ExpressionId inside = k.apply(
      Op::Less,
      {k.convert(DType::UInt64, index), k.convert(DType::UInt64, k.number(DType::Int64, 3))});
  const ExpressionId value = k.load(k.guard(k.access(x, {1}, -2), inside));
  const ExpressionId row = k.load(k.access(at, {1}));
  const ExpressionId found = k.load(k.guard(k.access_at(table, {0}, row, 1, 2), inside));
  k.map({{k.access(y, {1}), k.apply(Op::Add, {value, found})},
         {k.guard(k.access(z, {1}), inside), value}});
  KernelCall call{{memory(Floats{1, kNan, 3}), memory(Floats{10, 20}),
                   memory(std::vector<std::int32_t>{7, -1, 0, 1, 1, 99}), memory(Floats(6, 9)),
                   memory(Floats(6, 9))},
                  {},
                  0,
                  6};
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  CHECK(outcome.out_of_range.access == -1);
  const Floats sums = elements<float>(outcome.operands[3]);
  CHECK((sums[0] == 0 && sums[1] == 0 && sums[2] == 11 && std::isnan(sums[3]) && sums[4] == 23 &&
         sums[5] == 0));
  const Floats stored = elements<float>(outcome.operands[4]);
  CHECK((stored[1] == 9 && stored[2] == 1 && std::isnan(stored[3]) && stored[5] == 9));
  call.operands[2] = memory(std::vector<std::int32_t>{7, -1, 0, 5, 1, 99});
  CHECK(run_all_ways(k.kernel, call).out_of_range.index == 5);
}

TEST_CASE("scatter: equal indices add up, an index out of range adds nothing") {
  for (const DType dtype : {DType::UInt8, kF32}) {
    KernelMaker k("scatter", {2, 4}, 1);
    const OperandId at = k.input(DType::Int64), x = k.input(dtype), y = k.output(dtype, true);
    const ExpressionId index = k.load(k.access(at, {0, 1}));
    const ExpressionId value = k.load(k.access(x, {4, 1}));
    k.map({{k.access_at(y, {3, 0}, index, 1, 3), value, true}});
    KernelCall call{{memory(Longs{1, 0, 1, 7})}, {}, 0, 2};
    if (dtype == kF32) {
      call.operands.push_back(memory(Floats{1, 2, 3, 4, 5, 6, 7, 8}));
      call.operands.push_back(memory(Floats{10, 10, 10, 20, 20, 20}));
    } else {
      using Bytes = std::vector<std::uint8_t>;
      call.operands.push_back(memory(Bytes{1, 2, 3, 4, 250, 6, 250, 8}));
      call.operands.push_back(memory(Bytes{10, 10, 10, 20, 20, 20}));
    }
    const KernelOutcome outcome = run_all_ways(k.kernel, call);
    CHECK(outcome.out_of_range.index == 7);
    if (dtype == kF32) {
      CHECK(elements<float>(outcome.operands[2]) == Floats{12, 14, 10, 26, 32, 20});
    } else {
      CHECK(elements<std::uint8_t>(outcome.operands[2]) ==
            std::vector<std::uint8_t>{12, 14, 10, 26, (20 + 250 + 250) & 255, 20});
    }
  }
}

TEST_CASE("draws: every float dtype follows the documented layout") {
  std::vector<Kernel> kernels;
  KernelMaker k("draw", {5}, 1);
  const ExpressionId position = k.number(DType::Int64, 0), element = k.axis(0);
  std::vector<Store> stores;
  const std::vector<DType> dtypes{DType::Float16, DType::BFloat16, kF32, DType::Float64};
  KernelCall call{{}, {}, 0, 5};
  for (const DType dtype : dtypes) {
    const AccessId to = k.access(k.output(dtype), {1});
    stores.push_back({to, k.random(dtype, position, element, 0, 0)});
    call.operands.push_back({std::vector<std::byte>(5 * dtype_bytes(dtype))});
  }
  k.map(stores);
  const KernelOutcome outcome = run_all_ways(k.kernel, call);
  // Philox 4x32-10 with key 0 and counter 0 begins with 6627e8d5 e169c58d.
  CHECK(elements<float>(outcome.operands[2])[0] == static_cast<float>(0x6627e8) * 0x1p-24f);
  CHECK(elements<double>(outcome.operands[3])[0] ==
        static_cast<double>(0x6627e8d5e169c58dull >> 11) * 0x1p-53);
  // All bits of seed, stream, position and call counter are used, also the high halves.
  const auto drawn = [&](std::int64_t seed, std::int64_t stream, double position, std::uint64_t own,
                         std::uint64_t counter) {
    KernelMaker one("draw_one", {2}, 1);
    const AccessId to = one.access(one.output(kF32), {1});
    const ExpressionId where = one.number(DType::Int64, position), which = one.axis(0);
    one.map({{to, one.random(kF32, where, which, seed, stream)}});
    const KernelCall each{{memory(Floats(2))}, {}, 0, 2, own, counter};
    return elements<float>(run_all_ways(one.kernel, each).operands[0]);
  };
  const Floats plain = drawn(0, 0, 0, 0, 0);
  CHECK(drawn(std::int64_t{1} << 40, 0, 0, 0, 0) != plain);
  CHECK(drawn(0, 1, 0, 0, 0)[0] == static_cast<float>(0xbc57ac) * 0x1p-24f);
  CHECK(drawn(0, 2, 0, 0, 0) != plain);
  CHECK(drawn(0, std::int64_t{1} << 32, 0, 0, 0) != plain);
  CHECK(drawn(0, 0, 0x1p33, 0, 0) != plain);
  CHECK(drawn(0, 0, 0, 5, 0) != plain);
  CHECK(drawn(0, 0, 0, 0, 6) != plain);
  CHECK(drawn(5, 0, 0, 5, 0) == plain);  // seeds are joined by exclusive or
}

TEST_CASE("kept values: an exponential is kept for later stages, not past a write to its memory") {
  for (const bool used_after : {false, true}) {
    KernelMaker k("softmax_and_more", {2, 3}, 1);
    const OperandId x = k.input(kF32), y = k.output(kF32), z = k.output(kF32);
    const ExpressionId power = k.apply(Op::Exp, {k.load(k.access(x, {3, 1}))});
    const StageId sum = k.reduce(Combiner::Sum, power);
    k.map({{k.access(y, {3, 1}), k.apply(Op::Div, {power, k.result(sum)})}});
    const ExpressionId again = used_after ? power : k.load(AccessId(0));
    const StageId last = k.reduce(Combiner::Sum, k.apply(Op::Mul, {again, k.load(AccessId(0))}));
    k.map({{k.access(z, {1, 0}), k.result(last)}}, false);
    Kernel kept = k.kernel;
    reuse_stored(kept);
    CHECK(kept.stages.front().stores.size() == (used_after ? 0u : 1u));
    const KernelCall call{
        {memory(Floats{1, 2, 0, -1, 0.5f, 1}), memory(Floats(6)), memory(Floats(2))}, {}, 0, 2};
    const KernelOutcome plain = run_interpreted(k.kernel, call);
    const KernelOutcome outcome = run_interpreted(kept, call);
    CHECK((plain.operands == outcome.operands));
  }
}
