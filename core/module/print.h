// Prints a module in the text form (.kir): one line per value, for people and for parse.h. The text
// depends on the structure alone: sizes, placeholders, variables and host calls are numbered by
// first use. README.md shows the form.
#pragma once

#include "core/module/module.h"

#include <string>

namespace kiln::module {

/// The text of a module. parse_module() of it is an equal module, whose text is the same.
/// Throws ValueError when lambdas are nested more than kMaxNesting deep.
std::string print_module(const Module& module);
/// The text of a graph without guards, for messages and tests.
std::string print_graph(const ir::Graph& graph);

}  // namespace kiln::module
