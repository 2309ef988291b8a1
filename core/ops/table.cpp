// Asking the list of ops (table.h) by enumerator and by name.
#include "core/ops/table.h"

namespace kiln::ir {

const OpDef& def(Op op) { return kTable[static_cast<std::size_t>(op)]; }

std::span<const OpDef> all_ops() { return kTable; }

const OpDef* find_op(std::string_view name) {
  const auto found = std::find_if(kTable.begin(), kTable.end(),
                                  [&](const OpDef& d) { return d.name == name; });
  return found == kTable.end() ? nullptr : &*found;
}

}  // namespace kiln::ir
