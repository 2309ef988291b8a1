// List 2: what happens to a graph between the module and its units. Every pass takes and gives
// results; loop bodies and branches are included.
#pragma once

#include "core/ir/node.h"

#include <span>
#include <string_view>
#include <vector>

namespace kiln::codegen {

class ProductLibrary;

struct GraphPass {
  std::string_view name;
  /// `library` may be null.
  std::vector<ir::Value> (*run)(const std::vector<ir::Value>& results,
                                const ProductLibrary* library);
  /// Whether results are bit-identical when every op is evaluated separately (NaN payloads and
  /// subnormals aside). Otherwise sums may be reassociated or have another precision.
  bool keeps_bits;
  std::string_view sentence;
};

/// In the order in which they run.
std::span<const GraphPass> graph_passes();

/// Composites become the primitives they stand for, unless the library takes them.
std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results,
                                         const ProductLibrary* library);
/// Where there are convolutions, permutations of elementwise operands move behind the work, so that
/// those of data formats meet and cancel.
std::vector<ir::Value> sink_permutes(const std::vector<ir::Value>& results,
                                     const ProductLibrary* library);
/// Masks of relu of a product's result are made from relu's own result, which lies in memory.
std::vector<ir::Value> share_relu_masks(const std::vector<ir::Value>& results,
                                        const ProductLibrary* library);
/// A loop stacks equal values of its body once; reshapes of the stack serve the other results.
/// Before: (%h, %a, %b) = scan {... %4 = reshape %3; results %2 %3 %4}
/// After: (%h, %a) = scan {... results %2 %3}; %b = reshape %a
std::vector<ir::Value> merge_loop_results(const std::vector<ir::Value>& results,
                                          const ProductLibrary* library);

/// What accumulates float16 or bfloat16 does so in float32 and rounds once.
std::vector<ir::Value> widen_accumulators(const std::vector<ir::Value>& results,
                                          const ProductLibrary* library);
/// A reduction to one number goes axis by axis, so that its first part can run on many threads.
std::vector<ir::Value> split_reductions(const std::vector<ir::Value>& results,
                                        const ProductLibrary* library);

}  // namespace kiln::codegen
