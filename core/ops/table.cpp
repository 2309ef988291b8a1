// Looks definitions up by enumerator, name and code.
#include "core/ops/table.h"

namespace kiln::ir {

const OpDef& def(Op op) { return kTable[static_cast<std::size_t>(op)]; }

std::span<const OpDef> all_ops() { return kTable; }

const OpDef* find_op(std::string_view name) {
  const auto found =
      std::find_if(kTable.begin(), kTable.end(), [&](const OpDef& d) { return d.name == name; });
  return found == kTable.end() ? nullptr : &*found;
}

const OpDef* find_op(std::uint64_t code) {
  static constexpr auto kByCode = [] {
    constexpr int kMaxCode = std::max_element(kTable.begin(), kTable.end(), [](auto& a, auto& b) {
                               return a.code < b.code;
                             })->code;
    std::array<const OpDef*, kMaxCode + 1> table{};
    for (const OpDef& d : kTable) table[static_cast<std::size_t>(d.code)] = &d;
    return table;
  }();
  return code < kByCode.size() ? kByCode[code] : nullptr;
}

}  // namespace kiln::ir
