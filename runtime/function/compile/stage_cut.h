// Where a graph with sizes that a host function decides is cut into what comes before the function
// and what comes after it.
#pragma once

#include "core/ir/graph.h"

#include <optional>
#include <vector>

namespace kiln::runtime {

struct StageCut {
  ir::Graph stage;  // gives what is handed on, then the operands of each call but the position
  std::size_t handed_on = 0;
  std::vector<ir::NodeRef> calls;
  /// The graph over what was given: it takes the inputs, what is handed on, the calls' results.
  ir::Graph rest;
};

/// The first cut; nothing when no size is left to be decided. Throws ValueError for a call within a
/// loop or a branch.
std::optional<StageCut> cut_stage(const ir::Graph& graph);

/// The host calls that decide sizes of the graph's values: for Graph::sizes, since they need not be
/// operands of any. Throws ValueError for one within a loop or a branch.
std::vector<ir::Value> deciding_calls(const ir::Graph& graph);

}  // namespace kiln::runtime
