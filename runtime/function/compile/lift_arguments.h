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
  ir::Graph graph;               // gives the elements of the result as a vector
  ir::Graph source;              // has the elements that some of the arguments view
  std::vector<Array> arguments;  // of the inputs of `graph`
  std::uint64_t seed = 0;        // of the call
};

/// Whether the graph takes nothing, updates nothing and gives one tensor of known sizes, not a
/// scalar, that is computed element by element from draws and constants of the same sizes, and from
/// scalars. A draw depends on the linear index of its element, so that the elements may be numbered
/// along one axis.
bool is_pointwise(const ir::Graph& graph);

/// The graph over arguments. Its elements have the bits of `graph`'s: scalars that are no floats
/// stay in the code, which divides by integers, say, in ways that depend on them. Nothing where the
/// elements have more than 2^62 bytes.
/// REQUIRES: is_pointwise(graph).
std::optional<LiftedProgram> lift_arguments(const ir::Graph& graph);

}  // namespace kiln::runtime
