// Whether a graph is one that a backend may be given.
#pragma once

#include "core/module/module.h"

#include <optional>

namespace kiln::module {

/// The first fault found, or nothing. Checked: inputs are distinct placeholders and all that are
/// reached; updates are of distinct variables and of their types; lambdas are closed and use their
/// parameters by type; no parameter is outside of a lambda; every symbol has a source; recomputed
/// types equal the stored ones.
std::optional<std::string> verify(const ir::Graph& graph);

/// As for its graph; and the state is each variable that the graph reads or updates, once.
std::optional<std::string> verify(const Module& module);

}  // namespace kiln::module
