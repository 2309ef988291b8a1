// Tests the loads of lanes: several turns load before the first one stores.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/text/grid_text.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

std::string text_of(const Kernel& kernel, const GridDescription& device = {}) {
  const GridSchedule schedule = schedule_grid(kernel, device);
  INFO(print(schedule));
  REQUIRE(has_teams(schedule));
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  const std::string all = grid_functions(scheduled);
  return all.substr(all.find("__global__"));
}

int count(const std::string& text, const std::string& word) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++times;
  return times;
}

/// The bodies of the loops over the turns in flight, in order.
std::vector<std::string> turns_of(const std::string& text) {
  std::vector<std::string> bodies;
  const std::string head = "for (int turn = 0;";
  for (std::size_t at = text.find(head); at != text.npos; at = text.find(head, at + 1)) {
    const std::string indent = text.substr(text.rfind('\n', at), at - text.rfind('\n', at));
    bodies.push_back(text.substr(at, text.find(indent + "}", at) - at));
  }
  return bodies;
}

bool loads(const std::string& body) { return body.find(" load<") != body.npos; }
bool stores(const std::string& body) { return body.find("store<") != body.npos; }

/// Checks that loads and stores are in different loops over turns, and that `pairs` of them follow
/// each other.
void check_loads_precede_stores(const std::string& text, int pairs) {
  INFO(text);
  const std::vector<std::string> bodies = turns_of(text);
  int found = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    CHECK_FALSE((loads(bodies[i]) && stores(bodies[i])));
    found += i > 0 && loads(bodies[i - 1]) && stores(bodies[i]) ? 1 : 0;
  }
  CHECK(found == pairs);
}

/// y = (x - mean of x) * scale in each row, where the row's `inputs` operands are added to x.
Kernel centred(const ir::Dim& columns, int inputs = 1) {
  KernelMaker k("centred", {5, columns}, 1);
  ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
  for (int i = 1; i < inputs; ++i) {
    x = k.apply(Op::Add, {x, k.load(k.access(k.input(kF32), {columns, 1}))});
  }
  const ExpressionId mean = k.result(k.reduce(Combiner::Max, x));
  const ExpressionId scale = k.load(k.access(k.input(kF32), {0, 1}));
  const ExpressionId y = k.apply(Op::Mul, {k.apply(Op::Sub, {x, mean}), scale});
  k.map({{k.access(k.output(kF32), {columns, 1}), y}});
  return k.kernel;
}

KernelCall numbered_call(const Kernel& kernel, std::int64_t rows, std::int64_t columns) {
  KernelCall call{{}, {}, 0, rows};
  for (const OperandId i : kernel.operands.ids()) {
    Floats values;
    for (std::int64_t e = 0; e < rows * columns; ++e) {
      values.push_back(static_cast<float>((e * 7 + i.number) % 23));
    }
    call.operands.push_back(memory(values));
  }
  return call;
}

void check_run(const Kernel& kernel, const KernelCall& call) {
  INFO(print(kernel));
  run_as_grids(kernel, call, run_interpreted(kernel, call));
}

}  // namespace

TEST_CASE("team loads: several turns load before the first one stores") {
  // Unrolled: the maximum, then the map, which loads the scale alone.
  check_loads_precede_stores(text_of(centred(1001)), 1);
  check_loads_precede_stores(text_of(centred(1000)), 1);  // vectors
  check_loads_precede_stores(text_of(centred(100000)), 2);
  // A loop: its iterations and its last turns.
  const std::string loop = text_of(centred(100001));
  check_loads_precede_stores(loop, 2);
  CHECK_THAT(loop, ContainsSubstring("float x0[4];"));
  CHECK_THAT(loop, ContainsSubstring("float x0[3];"));
  for (const std::int64_t columns : {20, 100, 300, 1100, 5000}) {
    check_run(centred(columns), numbered_call(centred(columns), 5, columns));
  }
}

TEST_CASE("team loads: fewer turns are in flight where a turn loads more") {
  const auto in_flight = [](int inputs) {
    const std::string text = text_of(centred(100001, inputs));
    for (const int turns : {4, 2, 1}) {
      if (text.find("float x0[" + std::to_string(turns) + "];") != text.npos) return turns;
    }
    return 0;
  };
  CHECK(in_flight(1) == 4);
  CHECK(in_flight(3) == 4);
  CHECK(in_flight(7) == 2);
  CHECK(in_flight(20) == 1);
  for (const int inputs : {3, 7, 20}) {
    for (const std::int64_t columns : {70, 1100, 1500}) {
      check_run(centred(columns, inputs), numbered_call(centred(columns, inputs), 5, columns));
    }
  }
}

TEST_CASE("team loads: additions to memory load the old elements early") {
  // y[column] += x[row, column], and only in the first columns z[column] += x[row, column].
  const auto make = [](std::int64_t columns) {
    KernelMaker k("additions", {6, columns}, 1);
    const ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
    const ExpressionId highest = k.result(k.reduce(Combiner::Max, x));
    const ExpressionId is_first = k.apply(Op::Less, {k.axis(1), k.number(DType::Int64, 9)});
    const AccessId y = k.access(k.output(kF32, true), {0, 1});
    const AccessId z = k.guard(k.access(k.output(kF32, true), {0, 1}), is_first);
    k.map({{y, k.apply(Op::Sub, {x, highest}), true}, {z, x, true}});
    return k.kernel;
  };
  const std::string text = text_of(make(100001));
  check_loads_precede_stores(text, 2);
  CHECK(count(text, "float old1_0[") == 2);
  CHECK(count(text, "float old1_1[") == 2);
  for (const std::int64_t columns : {50, 5000}) {
    check_run(make(columns), numbered_call(make(columns), 6, columns));
  }
}

TEST_CASE("team loads: a guarded load keeps its guard") {
  // y = x[column - 3], 0 in the first three columns; reads before x would be out of bounds.
  KernelMaker k("shifted", {1, 1100}, 1);
  const ExpressionId is_inside = k.apply(Op::Less, {k.number(DType::Int64, 2), k.axis(1)});
  const ExpressionId x = k.load(k.guard(k.access(k.input(kF32), {1100, 1}, -3), is_inside));
  const ExpressionId highest = k.result(k.reduce(Combiner::Max, x));
  k.map({{k.access(k.output(kF32), {1100, 1}), k.apply(Op::Sub, {x, highest})}});
  check_run(k.kernel, numbered_call(k.kernel, 1, 1100));
}

TEST_CASE("team loads: early index checks record the lowest point, and its first index") {
  // Both stages share a loop: each loads at an index that may be out of range.
  KernelMaker k("gathers", {2, 300}, 1);
  const OperandId table = k.input(kF32);
  const ExpressionId at = k.load(k.access(k.input(DType::Int32), {300, 1}));
  const ExpressionId other = k.load(k.access(k.input(DType::Int32), {300, 1}));
  const ExpressionId first = k.load(k.access_at(table, {0, 0}, at, 1, 3));
  const ExpressionId second = k.load(k.access_at(table, {0, 0}, other, 1, 3));
  const StageId highest = k.reduce(Combiner::Max, first);
  const StageId lowest = k.reduce(Combiner::Min, k.apply(Op::Sub, {first, second}));
  const ExpressionId range = k.apply(Op::Sub, {k.result(highest), k.result(lowest)});
  k.map({{k.access(k.output(kF32), {1, 0}), range}}, false);
  const auto recorded = [&](const std::vector<std::pair<std::size_t, int>>& wrong_at,
                            const std::vector<std::pair<std::size_t, int>>& wrong_other) {
    Ints indices(600, 1), others(600, 2);
    for (const auto& [i, index] : wrong_at) indices[i] = index;
    for (const auto& [i, index] : wrong_other) others[i] = index;
    const KernelCall call{
        {memory(Floats{1, 2, 3}), memory(indices), memory(others), memory(Floats(2))}, {}, 0, 2};
    const KernelOutcome expected = run_interpreted(k.kernel, call);
    run_as_grids(k.kernel, call, expected);
    return expected.out_of_range.index;
  };
  CHECK(recorded({{290, 7}}, {{3, 8}}) == 7);  // the first stage precedes
  CHECK(recorded({}, {{3, 8}, {2, 9}, {100, 10}}) == 9);
  CHECK(recorded({{301, 5}}, {{299, 6}}) == 6);  // the first row precedes
  CHECK(recorded({{40, 11}, {41, 12}}, {{40, 13}, {41, 14}}) == 11);
}
