// Checks shared by the tests of passes: graphs in printed form, before and after, in variants.
#pragma once

#include "core/ir/graph.h"

#include <string>

namespace kiln::test {

using PassFunction = ir::Graph (*)(const ir::Graph&);

/// Checks that the pass turns `before` into `after`, leaves `after` unchanged, and keeps the
/// results (bit for bit and on special values, too, where Pass::keeps_bits). Both graphs are the
/// lines of a printed graph without its first two; $T stands for a dtype, $N for the number of
/// steps and $R for whether the loop runs in reverse. Tries all combinations of float32 and
/// float64, known and unknown length, forwards and backwards; an unknown length with 0, 1 and 4
/// steps.
void check_pass(PassFunction pass, const std::string& before, const std::string& after);
/// Checks that the pass returns the same values.
void check_unchanged(PassFunction pass, const std::string& graph);

}  // namespace kiln::test
