// Tiny graphs with a loop, and what every test of a pass asks of it.
#pragma once

#include "core/ir/graph.h"
#include "core/ops/lambda_builder.h"

#include <string>

namespace kiln::test {

using Values = std::vector<ir::Value>;
using PassFunction = ir::Graph (*)(const ir::Graph&);

inline ir::Type f64(ir::Dims dims) { return {DType::Float64, std::move(dims)}; }

/// What the body gives, from (step, carries, slices): next carries, then outputs.
struct Loop {
  Values init, xs;
  ir::Dim length = 3;
  std::size_t carries = 1;
  bool reverse = false;
};
using Body = Values (*)(const Values& parameters, const Values& outer);
/// The results of a Scan: last carries, then stacked outputs. `outer` is handed to the body.
Values scan(const Loop& loop, const Values& outer, Body body);

ir::Graph graph_of(Values inputs, Values outputs);
/// The printed graph without the source lines of its nodes.
std::string printed(const ir::Graph& graph);
std::size_t count_ops(const ir::Graph& graph, ir::Op op);

/// The graphs give the same on random inputs of their (equal) types.
void check_same_numbers(const ir::Graph& before, const ir::Graph& after);
/// The pass makes `golden` out of the graph, with the same numbers, and then nothing more.
void check_pass(PassFunction pass, const ir::Graph& before, const std::string& golden);
/// The pass gives the very same values back.
void check_unchanged(PassFunction pass, const ir::Graph& graph);

}  // namespace kiln::test
