// The rules at verify() in units.h.
#include "backends/codegen/fusion/units.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::codegen {
namespace {

[[noreturn]] void broken(std::size_t unit, const std::string& what) {
  throw InternalError("verify", "", text("the units are broken: unit ", unit, " ", what));
}

void verify_kernel(const Unit& unit, std::size_t number,
                   std::unordered_map<const ir::Node*, std::size_t>& unit_of) {
  if (unit.split && unit.reduced.size() != unit.domain.size()) {
    broken(number, text("reduces ", unit.reduced.size(), " axes of ", unit.domain.size()));
  }
  for (const Member& member : unit.members) {
    const auto [known, is_new] = unit_of.try_emplace(member.node, number);
    if (is_new) continue;
    broken(number,
           text("computes what unit ", known->second, " computes: ", source_of(*member.node)));
  }
}

}  // namespace

void verify(const Units& units) {
  std::unordered_map<const ir::Node*, std::size_t> unit_of;
  for (std::size_t i = 0; i < units.units.size(); ++i) {
    const Unit& unit = units.units[i];
    if (unit.kind == UnitKind::Kernel) {
      verify_kernel(unit, i, unit_of);
    } else if (unit.kind != UnitKind::Join && unit.node == nullptr) {
      broken(i, "is of no node");
    }
  }
}

}  // namespace kiln::codegen
