// One paragraph a unit, one line a member or a part of a tensor.
#include "backends/codegen/fusion/units.h"

#include "backends/codegen/inspect/source.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

const char* name_of(UnitKind kind) {
  switch (kind) {
    case UnitKind::Kernel: return "kernel";
    case UnitKind::Product: return "library call";
    case UnitKind::Loop: return "loop";
    case UnitKind::Branch: return "branch";
    case UnitKind::HostCall: return "host call";
    case UnitKind::RowUpdate: return "row update";
    case UnitKind::Join: return "join";
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

std::string axes_of(const Unit& unit) {
  std::string out;
  for (std::size_t i = 0; i < unit.domain.size(); ++i) {
    const bool reduced = unit.split && unit.reduced[i];
    out += text("[", unit.domain[i], reduced ? " reduced]" : "]");
  }
  return out;
}

}  // namespace

std::string print(const Units& units) {
  std::string out;
  for (std::size_t i = 0; i < units.units.size(); ++i) {
    const Unit& unit = units.units[i];
    out += text("unit ", i, ": ", name_of(unit.kind));
    if (unit.kind == UnitKind::Kernel) out += text(" over ", axes_of(unit));
    out += unit.node ? text(" ", source_of(*unit.node), "\n") : "\n";
    for (const Member& member : unit.members) {
      out += text("  ", ir::def(member.node->op).name, " ", name_of(member.role), ", level ",
                  member.level, ": ", source_of(*member.node), "\n");
    }
    for (const Placement& part : unit.placements) {
      out += text("  ", part.adds ? "adds to" : "writes", " a part of ", part.target.type(), ": ",
                  source_of(*part.target.node), "\n");
    }
  }
  return out;
}

}  // namespace kiln::codegen
