// Rematerialisation: a cheap node over tensors that are in memory anyway is recomputed in each
// kernel that reads it, instead of being stored and loaded.
//
// Before: k1: g = select(y <= 0, 0, dy); s = sum(g); store g
//         k2: dx = g + s * x
// After:  k1: g = select(y <= 0, 0, dy); s = sum(g)
//         k2: dx = select(y <= 0, 0, dy) + s * x
#pragma once

#include "backends/codegen/fusion/phases.h"

namespace kiln::codegen {

/// The nodes to rematerialise: comparisons (masks of relu and max), x - mean, selects that only an
/// overlapping Fold reads, matrices widened from 16 bits to be multiplied by a vector in a kernel,
/// and values that later kernels read, in another phase (phases.h) or behind a library call, such
/// as the gradient that batch normalization reduces and the inner values of gelu. `order`: all
/// nodes, operands first.
ir::NodeSet nodes_to_rematerialise(const std::vector<const ir::Node*>& order,
                                   const std::vector<ir::Value>& results, const SizeNames& names,
                                   const FuseOptions& options, const Phases& phases);

}  // namespace kiln::codegen
