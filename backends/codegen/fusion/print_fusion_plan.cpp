// A paragraph for each group, a line for each member and each partial write.
#include "backends/codegen/fusion/fusion_plan.h"

#include "backends/codegen/fusion/fusion_rules.h"
#include "backends/codegen/inspect/source.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

const char* name_of(NodeGroup::Kind kind) {
  switch (kind) {
    case NodeGroup::Kind::LibraryCall: return "library call";
    case NodeGroup::Kind::Loop: return "loop";
    case NodeGroup::Kind::Branch: return "branch";
    case NodeGroup::Kind::HostCall: return "host call";
    case NodeGroup::Kind::RowUpdate: return "row update";
    case NodeGroup::Kind::Attention: return "attention";
    case NodeGroup::Kind::WrittenTensor: return "complete after partial writes";
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

std::string axes_of(const KernelGroup& group) {
  std::string out;
  for (std::size_t i = 0; i < group.domain.size(); ++i) {
    const bool reduced = group.has_reduced_axes && group.reduced[i];
    out += text("[", group.domain[i], reduced ? " reduced]" : "]");
  }
  return out;
}

std::string text_of(const KernelGroup& group) {
  std::string out = text("kernel over ", axes_of(group));
  if (is_full(group)) {
    out += text(", full: ", group.members.size(), " nodes in ", group.stages, " stages");
  }
  out += "\n";
  for (const Member& member : group.members) {
    out += text("  ", ir::def(member.node->op).name, " ", name_of(member.role), ", level ",
                member.level, ": ", source_of(*member.node), "\n");
  }
  for (const PartialWrite& write : group.partial_writes) {
    out += text("  ", write.adds ? "adds to" : "writes", " a part of ", write.target.type(), ": ",
                source_of(*write.target.node), "\n");
  }
  return out;
}
std::string text_of(const NodeGroup& group) {
  return text(name_of(group.kind), " ", source_of(*group.node), "\n");
}
std::string text_of(const MergedGroup&) { return "merged away\n"; }

}  // namespace

std::string print(const FusionPlan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    out += text("group ", i, ": ");
    out += std::visit([](const auto& group) { return text_of(group); }, plan.groups[i]);
  }
  return out;
}

}  // namespace kiln::codegen
