// The graph passes of the pipeline (pipeline.h has their order). Every one takes and gives results;
// bodies of loops and branches are included.
#pragma once

#include "core/ir/node.h"

#include <vector>

namespace kiln::codegen {

class LibraryClaims;

/// Results of a graph to results of the same values. `library` may be null.
using GraphPass = std::vector<ir::Value> (*)(const std::vector<ir::Value>& results,
                                             const LibraryClaims* library);

/// Composites become the primitives they stand for, unless the library takes them.
std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const LibraryClaims* library);
/// Where there are convolutions, permutations of elementwise operands move behind the work, so that
/// those of data formats meet and cancel.
std::vector<ir::Value> sink_permutes(const std::vector<ir::Value>& results,
                                     const LibraryClaims* library);
/// Masks of relu of a product's result are made from relu's own result, which lies in memory.
std::vector<ir::Value> share_relu_masks(const std::vector<ir::Value>& results,
                                        const LibraryClaims* library);
/// A loop stacks equal values of its body once; reshapes of the stack serve the other results.
/// Results that differ by broadcasts which only assert equal sizes become reshapes of one value.
/// Before: (%h, %a, %b) = scan {... %4 = reshape %3; results %2 %3 %4}
/// After: (%h, %a) = scan {... results %2 %3}; %b = reshape %a
std::vector<ir::Value> merge_loop_results(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

/// Accumulates float16 and bfloat16 in float32 and rounds once; leaves nodes that a library takes.
std::vector<ir::Value> widen_accumulators(const std::vector<ir::Value>& results,
                                          const LibraryClaims* library);

}  // namespace kiln::codegen
