// The pipeline of graph passes: from the user's graph to the graph that a backend gets. The list is
// data; one runner times, verifies, reports and can disable each pass.
#pragma once

#include "core/ir/graph.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::passes {

struct Pass {
  std::string_view name;  // also of the function, its file and its cases
  /// Returns a pointer-equal graph if it changes nothing.
  ir::Graph (*run)(const ir::Graph& graph);
  /// Whether results keep their bits if every op is evaluated separately (NaN payloads and
  /// subnormals aside). If not, the pass may reassociate sums.
  bool keeps_bits;
  /// Whether it changes only Scan nodes and nodes around them: run_pipeline skips it for a graph
  /// without Scan.
  bool only_scans;
  std::string_view description;  // a verb phrase
};

/// The passes in order. A name may occur twice, as simplify does.
std::span<const Pass> pipeline();

struct PassReport {
  const Pass& pass;
  std::size_t position;  // in the pipeline, from 0
  const ir::Graph& graph;  // after the pass
  bool changed;
  double seconds;
};

struct PipelineOptions {
  /// Names of passes to skip. The runtime, not this folder, reads KILN_DISABLE.
  std::vector<std::string> disabled;
  /// Whether to verify the graph after each pass that changed it; InternalError names the pass.
  bool verify = true;
  /// Called after each pass that ran; may be empty.
  std::function<void(const PassReport&)> report;
};

/// Runs the pipeline on `graph`.
ir::Graph run_pipeline(const ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace kiln::passes
