// Runs the simplifier of core/rewrite as a pass.
#include "core/passes/simplify.h"

#include "core/ops/rewrite_graph.h"
#include "core/rewrite/rules.h"

namespace kiln::passes {

ir::Graph simplify(const ir::Graph& graph) {
  return ir::with_roots(graph, rewrite::Simplifier().simplify(graph.roots()));
}

}  // namespace kiln::passes
