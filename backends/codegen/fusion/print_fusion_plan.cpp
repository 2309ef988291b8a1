// A paragraph for each group, a line for each member and each partial write.
#include "backends/codegen/fusion/fusion_plan.h"

#include "backends/codegen/inspect/source.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

const char* name_of(const FusionGroup& group) {
  switch (group.kind) {
    case GroupKind::Kernel: return "kernel";
    case GroupKind::LibraryCall: return "library call";
    case GroupKind::Loop: return "loop";
    case GroupKind::Branch: return "branch";
    case GroupKind::HostCall: return "host call";
    case GroupKind::RowUpdate: return "row update";
    case GroupKind::Empty: return group.node ? "complete after partial writes" : "merged away";
  }
  return "";
}

const char* name_of(Role role) {
  switch (role) {
    case Role::Full: return "at each point";
    case Role::Outer: return "at each outer point";
    case Role::Reduce: return "reduce";
    case Role::Running: return "running";
  }
  return "";
}

std::string axes_of(const FusionGroup& group) {
  std::string out;
  for (std::size_t i = 0; i < group.domain.size(); ++i) {
    const bool reduced = group.has_reduced_axes && group.reduced[i];
    out += text("[", group.domain[i], reduced ? " reduced]" : "]");
  }
  return out;
}

}  // namespace

std::string print(const FusionPlan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const FusionGroup& group = plan.groups[i];
    out += text("group ", i, ": ", name_of(group));
    if (group.kind == GroupKind::Kernel) out += text(" over ", axes_of(group));
    out += group.node ? text(" ", source_of(*group.node), "\n") : "\n";
    for (const Member& member : group.members) {
      out += text("  ", ir::def(member.node->op).name, " ", name_of(member.role), ", level ",
                  member.level, ": ", source_of(*member.node), "\n");
    }
    for (const PartialWrite& write : group.partial_writes) {
      out += text("  ", write.adds ? "adds to" : "writes", " a part of ", write.target.type(), ": ",
                  source_of(*write.target.node), "\n");
    }
  }
  return out;
}

}  // namespace kiln::codegen
