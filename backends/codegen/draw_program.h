// Draws compiled programs: the kernels of a graph, and the plan of a call.
#pragma once

#include "backends/codegen/pipeline.h"
#include "core/picture/picture.h"

#include <string>

namespace kiln::codegen {

/// The graph that is compiled, with the names of the module: `results` are outputs, then new values
/// of variables.
ir::Graph drawn_graph(const ir::Graph& module_graph, const std::vector<ir::Value>& results);

/// A box for each kernel and library call, with lines for the nodes that it computes.
picture::Picture draw_kernels(const Compilation& compilation, const ir::Graph& graph,
                              const std::string& title);

/// A box for each step, with its number, the tensors that it writes, and its level: steps of one
/// level depend on none of each other.
picture::Picture draw_plan(const Compilation& compilation, const ir::Graph& graph,
                           const std::string& title);

}  // namespace kiln::codegen
