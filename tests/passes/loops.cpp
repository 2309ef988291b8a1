// Building, printing and evaluating the tiny graphs of loops.h.
#include "tests/passes/loops.h"

#include "core/ir/traverse.h"
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"

#include <sstream>

namespace kiln::test {

Values scan(const Loop& loop, const Values& outer, Body body) {
  std::vector<ir::Type> types{{DType::Int64, {}}};
  for (const ir::Value& value : loop.init) types.push_back(value.type());
  for (const ir::Value& value : loop.xs) {
    ir::Type slice = value.type();
    slice.dims.erase(slice.dims.begin());
    types.push_back(slice);
  }
  const ir::LambdaBuilder builder(types);
  const auto closed = builder.close(body(builder.parameters(), outer), 1);
  const auto size = [](const Values& values) { return static_cast<std::int64_t>(values.size()); };
  const ir::ScanAttrs attrs{{closed.lambda}, size(closed.captures), size(loop.init),
                            size(loop.xs), loop.length, loop.reverse};
  Values operands = closed.captures;
  operands.insert(operands.end(), loop.init.begin(), loop.init.end());
  operands.insert(operands.end(), loop.xs.begin(), loop.xs.end());
  return ir::results_of(ir::make_node(ir::Op::Scan, attrs, operands));
}

ir::Graph graph_of(Values inputs, Values outputs) {
  return {std::move(inputs), std::move(outputs), {}};
}

std::string printed(const ir::Graph& graph) {
  std::istringstream lines(module::print_graph(graph));
  std::string text, line;
  while (std::getline(lines, line)) text += line.substr(0, line.find(" ; ")) + "\n";
  return text;
}

std::size_t count_ops(const ir::Graph& graph, ir::Op op) {
  std::size_t count = 0;
  for (const ir::Node* node : ir::topological_order(graph.roots())) count += node->op == op;
  return count;
}

void check_same_numbers(const ir::Graph& before, const ir::Graph& after) {
  std::mt19937_64 generator(5);
  REQUIRE(before.inputs == after.inputs);
  for (int round = 0; round < 3; ++round) {
    std::vector<Array> feeds;
    for (const ir::Value& input : before.inputs) {
      feeds.push_back(random_array(generator, input.type(), -1, 1));
    }
    const auto expected = evaluate(before.inputs, before.outputs, feeds);
    const auto actual = evaluate(after.inputs, after.outputs, feeds);
    REQUIRE(expected.size() == actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(difference(actual[i], expected[i], 1e-12, 1e-12) == "");
    }
  }
}

void check_pass(PassFunction pass, const ir::Graph& before, const std::string& golden) {
  const ir::Graph after = pass(before);
  CHECK(printed(after) == golden);
  check_same_numbers(before, after);
  check_unchanged(pass, after);
}

void check_unchanged(PassFunction pass, const ir::Graph& graph) { CHECK(pass(graph) == graph); }

}  // namespace kiln::test
