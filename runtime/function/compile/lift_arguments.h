// Turns the size, the seed and the constants of a pointwise program into arguments, so that one
// executable computes all programs that differ in nothing else.
//
// Before: %0 = random_uniform seed=7 : float32[3,4]; %1 = constant 0.05 : float32
//         %2 = broadcast %1 : float32[3,4]; output = mul %0 %2
// After:  inputs bool[n,0], float32; %0 = random_uniform seed=0 : float32[n]
//         %2 = broadcast (input 1) : float32[n]; output = mul %0 %2
//         fed a bool[12,0] and 0.05, called with seed 7
#pragma once

#include "core/ir/graph.h"

#include <kiln/array.h>

#include <optional>
#include <vector>

namespace kiln::runtime {

struct LiftedProgram {
  ir::Graph graph;               // its output is the result as a vector
  ir::Graph source;              // the original; owns the elements that some arguments view
  std::vector<Array> arguments;  // one per input of `graph`
  std::uint64_t seed = 0;        // of the call
};

/// Whether the graph has no inputs and no updates, and one output of static sizes and rank above 0
/// that is elementwise in draws and constants of the same sizes and in scalars. A draw depends only
/// on the linear index of its element, so that the elements may be flattened to one axis.
bool is_pointwise(const ir::Graph& graph);

/// Lifts the size, the seed, and float constants to arguments. The result has the bits of the
/// original's: integer and bool scalars stay constants, since code such as an integer division
/// depends on them. Returns nothing if a tensor may exceed 2^62 bytes. REQUIRES:
/// is_pointwise(graph).
std::optional<LiftedProgram> lift_arguments(const ir::Graph& graph);

}  // namespace kiln::runtime
