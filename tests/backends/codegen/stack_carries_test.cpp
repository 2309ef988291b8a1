// Tests carries that a loop also stacks: their memory, and their values against `reference`.
#include "tests/support/catch.h"
#include "tests/backends/codegen/lowered.h"
#include "tests/core/ops/evaluate.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"

using namespace kiln;
using namespace kiln::codegen;
using ir::Op;
using ir::Value;

namespace {

/// A loop over x[T,2,3] with carries c and d: c' = c * d + x, d' = d - x or c.
struct Loop {
  const char* name;
  bool before, after;                   // whether c is stacked as it is found, as it is left
  bool is_result;                       // whether the stacks are results of the program
  bool shifts;                          // d' = c
  int expected_before, expected_after;  // CarryStacks of c
};

constexpr Loop kLoops[] = {
    {"neither", false, false, false, false, -1, -1},
    {"as found", true, false, false, false, 2, -1},
    {"as left", false, true, false, false, -1, 2},
    {"both", true, true, false, false, 2, 3},
    {"as found, a result", true, false, true, false, 2, -1},
    {"as left, a result", false, true, true, false, -1, 2},
    {"both, results", true, true, true, false, -1, 3},
    {"both, and another carry takes the old value", true, true, false, true, 2, 3},
};

struct Graph {
  std::vector<Value> inputs, results;
};

Graph graph_of(const Loop& loop, const ir::Dim& steps, bool reverse) {
  const ir::Dim rows = 2;
  const Value xs = test::placeholder({DType::Float32, {steps, rows, 3}});
  const Value c0 = test::placeholder({DType::Float32, {rows, 3}});
  const Value d0 = test::placeholder({DType::Float32, {rows, 3}});
  const ir::LambdaBuilder body({{DType::Int64, {}}, c0.type(), d0.type(), c0.type()});
  const auto& p = body.parameters();
  const Value next = ir::binary(Op::Add, ir::binary(Op::Mul, p[1], p[2]), p[3]);
  const Value other = loop.shifts ? p[1] : ir::binary(Op::Sub, p[2], p[3]);
  std::vector<Value> results{next, other};
  if (loop.before) results.push_back(p[1]);
  if (loop.after) results.push_back(next);
  const ir::NodeRef scan =
      ir::make_scan(body.close(results, 1, {}), {c0, d0}, {xs}, steps, reverse);
  Graph graph{{xs, c0, d0}, ir::results_of(scan)};
  for (std::size_t i = 2; i < graph.results.size() && !loop.is_result; ++i) {
    graph.results[i] = ir::binary(Op::Add, graph.results[i], graph.results[i]);
  }
  return graph;
}

const LoopStep& loop_of(const codegen::Program& program) {
  for (const Step& step : program.plan.steps) {
    if (const auto* loop = std::get_if<LoopStep>(&step)) return *loop;
  }
  FAIL("the plan has no loop");
  throw std::logic_error("no loop");
}

int copies_of(const Plan& plan) {
  const auto is_copy = [](const Step& step) { return std::holds_alternative<CopyStep>(step); };
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), is_copy));
}

/// Of carry 0.
CarryStacks stacks_of(const LoopStep& loop) {
  for (const CarryStacks& stacks : loop.carry_stacks) {
    if (stacks.carry == 0) return stacks;
  }
  return {};
}

}  // namespace

TEST_CASE("stack_carries: a carry is stored in its stack") {
  for (const Loop& one : kLoops) {
    INFO(one.name);
    const Graph graph = graph_of(one, ir::Dim::fresh("t"), false);
    const codegen::Program program = lowered(graph.inputs, graph.results);
    const LoopStep& loop = loop_of(program);
    CHECK(stacks_of(loop).before == one.expected_before);
    CHECK(stacks_of(loop).after == one.expected_after);
    // Of two stacks that are results one is copied; so is a carry that takes another's old value.
    const int copied = (one.before && one.after && one.is_result ? 1 : 0) + (one.shifts ? 1 : 0);
    CHECK(copies_of(*loop.body) == copied);
  }
}

TEST_CASE("stack_carries: values do not change") {
  std::mt19937_64 generator(7);
  for (const Loop& one : kLoops) {
    for (const std::int64_t steps : {0, 1, 2, 3, 6}) {
      for (const bool reverse : {false, true}) {
        for (const bool is_static : {false, true}) {
          INFO(one.name << ", " << steps << " steps, reverse " << reverse);
          const ir::Dim length = is_static ? ir::Dim(steps) : ir::Dim::fresh("t");
          const Graph graph = graph_of(one, length, reverse);
          std::vector<Array> feeds;
          for (const Value& input : graph.inputs) {
            ir::Type type = input.type();
            if (type.dims.size() == 3) type.dims[0] = steps;
            feeds.push_back(test::random_array(generator, type, -1, 1));
          }
          const auto want = test::evaluate(graph.inputs, graph.results, feeds, "reference");
          const auto found = test::evaluate(graph.inputs, graph.results, feeds, "cpu");
          REQUIRE(found.size() == want.size());
          for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(test::difference(found[i], want[i], 1e-6, 1e-6) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("stack_carries: two stacks of a carry are one tensor that is a slice longer") {
  constexpr std::int64_t kSteps = 50, kSlice = 2 * 3 * sizeof(float);
  std::int64_t bytes[2];
  for (const bool both : {false, true}) {
    const Loop one{"", true, both, false, false, -1, -1};
    const Graph graph = graph_of(one, kSteps, false);
    const codegen::Program program = lowered(graph.inputs, graph.results);
    const KernelFunctions functions(program.kernels.size());
    const EvaluateDim evaluate = [](const ir::Dim& dim) { return dim.value(); };
    const ProgramFacts facts(program, std::vector<bool>(graph.inputs.size(), false));
    WeightForms forms;
    const auto bound = bind_program({.program = program,
                                     .facts = facts,
                                     .functions = functions,
                                     .evaluate = evaluate,
                                     .forms = forms});
    bytes[both] = bound->arena.bytes;
  }
  CHECK(bytes[true] - bytes[false] <= kSlice + kAlignment);
}
