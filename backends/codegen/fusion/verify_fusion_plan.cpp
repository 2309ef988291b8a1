// Checks the invariants that verify() in fusion_plan.h lists.
#include "backends/codegen/fusion/fusion_plan.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

[[noreturn]] void broken(std::size_t group, const std::string& what) {
  throw InternalError("verify", "", text("the fusion plan is broken: group ", group, " ", what));
}

void verify_kernel(const KernelGroup& group, std::size_t number,
                   ir::NodeMap<std::size_t>& group_of) {
  if (group.has_reduced_axes && group.reduced.size() != group.domain.size()) {
    broken(number, text("reduces ", group.reduced.size(), " axes of ", group.domain.size()));
  }
  for (const Member& member : group.members) {
    const auto [known, is_new] = group_of.emplace(member.node, number);
    if (is_new) continue;
    broken(number, text("computes a node of group ", *known, ", too: ", source_of(*member.node)));
  }
}

}  // namespace

void verify(const FusionPlan& plan) {
  ir::NodeMap<std::size_t> group_of;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const auto* kernel = std::get_if<KernelGroup>(&plan.groups[i]);
    if (kernel) verify_kernel(*kernel, i, group_of);
    const auto* other = std::get_if<NodeGroup>(&plan.groups[i]);
    if (other && other->node == nullptr) broken(i, "has no node");
  }
}

}  // namespace kiln::codegen
