// List 2: what happens to a graph between the module and its units. Every pass takes and gives
// results; loop bodies and branches are included.
#pragma once

#include "core/ir/node.h"

#include <span>
#include <string_view>
#include <vector>

namespace kiln::codegen {

struct GraphPass {
  std::string_view name;
  std::vector<ir::Value> (*run)(const std::vector<ir::Value>& results);
  std::string_view sentence;
};

/// In the order in which they run.
std::span<const GraphPass> graph_passes();

/// Composites become the primitives they stand for.
std::vector<ir::Value> expand_composites(const std::vector<ir::Value>& results);
/// What accumulates float16 or bfloat16 does so in float32 and rounds once.
std::vector<ir::Value> widen_accumulators(const std::vector<ir::Value>& results);
/// A reduction to one number goes axis by axis, so that its first part can run on many threads.
std::vector<ir::Value> split_reductions(const std::vector<ir::Value>& results);

}  // namespace kiln::codegen
