// Prints a graph for Graphviz: ops with types and source lines, lambdas as clusters.
#pragma once

#include "core/ir/graph.h"

namespace kiln::module {

std::string print_dot(const ir::Graph& graph, const std::string& name);

}  // namespace kiln::module
