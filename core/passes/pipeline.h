// Pass list 1: from the user's graph to the graph that crosses to a backend. The list is data; one
// runner names, times, verifies, reports and can disable each pass.
#pragma once

#include "core/ir/graph.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::passes {

/// `name` is also the name of the function, its file and its test. `run` returns a pointer-equal
/// graph when it changes nothing.
struct Pass {
  std::string_view name;
  ir::Graph (*run)(const ir::Graph& graph);
  /// Whether results are bit-identical when every op is evaluated separately (NaN payloads and
  /// subnormals aside). Otherwise sums may be reassociated.
  bool keeps_bits;
  std::string_view sentence;
};

/// The passes in order. A name may occur twice (simplify).
std::span<const Pass> pipeline();

struct PassReport {
  const Pass& pass;
  std::size_t position;  // in the pipeline, from 0
  const ir::Graph& graph;  // after the pass
  bool changed;
  double seconds;
};

struct PipelineOptions {
  /// Names of passes to leave out. KILN_DISABLE is read by the runtime, not here.
  std::vector<std::string> disabled;
  /// Verify the graph after each pass: InternalError naming the pass.
  bool verify = true;
  /// Called after each pass that ran.
  std::function<void(const PassReport&)> report;
};

ir::Graph run_pipeline(const ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace kiln::passes
