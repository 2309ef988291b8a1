// Verifies the invariants of a graph, after passes and for modules that are read.
#pragma once

#include "core/module/module.h"

#include <optional>

namespace kiln::module {

/// The first violation found, or nullopt. Inputs must be distinct placeholders and include all that
/// are used; updates must be of distinct variables and have their types; lambdas must be closed and
/// use their parameters by type; parameters occur in lambdas only; every symbol must be bound by an
/// input; inferred types must equal the stored ones. O(nodes).
std::optional<std::string> verify(const ir::Graph& graph);

/// Verifies the graph, and that the state lists each variable that it reads or updates once.
std::optional<std::string> verify(const Module& module);

}  // namespace kiln::module
