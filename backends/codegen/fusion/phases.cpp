// One pass over the nodes in topological order.
#include "backends/codegen/fusion/phases.h"

#include "backends/codegen/fusion/reduction_parts.h"
#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {

Phases::Phases(const std::vector<const ir::Node*>& order, const SizeNames& names,
               const FuseOptions& options)
    : reads_(order.size()), results_(order.size()) {
  const auto ends_phase = [&](const ir::Node& node) {
    if (def(node).lowering != ir::Lowering::Reduce) return false;
    const IterationSpace space = iteration_space(node, names, /*dense=*/false);
    return runs_in_parts(space.domain, space.reduced, options.target, options.is_body);
  };
  for (const ir::Node* node : order) {
    int phase = 0;
    for (const ir::Value& operand : node->operands) {
      phase = std::max(phase, results_.at(operand.node.get()));
    }
    reads_.emplace(node, phase);
    results_.emplace(node, ends_phase(*node) ? phase + 1 : phase);
  }
}

int Phases::of(const ir::Node& node) const { return reads_.at(&node); }

int Phases::of(const KernelGroup& group) const {
  int phase = 0;
  for (const Member& member : group.members) {
    if (member.role != Role::Outer) phase = std::max(phase, of(*member.node));
  }
  return phase;
}

}  // namespace kiln::codegen
