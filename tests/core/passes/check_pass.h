// Checks shared by the tests of passes: graphs in printed form, before and after, in variants.
#pragma once

#include "core/ir/graph.h"

#include <string>

namespace kiln::test {

using PassFunction = ir::Graph (*)(const ir::Graph&);

/// The pass makes `after` out of `before`, with the same numbers (by bits and on special values,
/// too, where Pass::keeps_bits), and then nothing more. Both are
/// the lines of a printed graph without its first two; in them $T is a dtype, $N the number of
/// steps and $R whether the loop runs in reverse. Each combination of float32 and float64, known
/// and unknown length, forwards and backwards is tried; an unknown length with 0, 1 and 4 steps.
void check_pass(PassFunction pass, const std::string& before, const std::string& after);
/// Checks that the pass returns the same values.
void check_unchanged(PassFunction pass, const std::string& graph);

}  // namespace kiln::test
