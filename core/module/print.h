// Module to text (.kir): one line per value, read by people and by parse.h. The text depends on
// the structure alone: sizes, placeholders, variables and host calls are numbered by first use.
// README.md shows the form.
#pragma once

#include "core/module/module.h"

#include <string>

namespace kiln::module {

/// parse_module gives back an equal module, and printing that gives back this text.
/// Throws ValueError when scans and conditions are nested more than kMaxNesting deep.
std::string print_module(const Module& module);
/// The graph alone, without guards: for messages and for comparing graphs in tests.
std::string print_graph(const ir::Graph& graph);

}  // namespace kiln::module
