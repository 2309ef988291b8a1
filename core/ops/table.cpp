// Queries of the list of ops (table.h) by enumerator, name and code.
#include "core/ops/table.h"

namespace kiln::ir {

const OpDef& def(Op op) { return kTable[static_cast<std::size_t>(op)]; }

std::span<const OpDef> all_ops() { return kTable; }

const OpDef* find_op(std::string_view name) {
  const auto found = std::find_if(kTable.begin(), kTable.end(),
                                  [&](const OpDef& d) { return d.name == name; });
  return found == kTable.end() ? nullptr : &*found;
}

const OpDef* find_op(std::uint64_t code) {
  static constexpr auto kByCode = [] {
    constexpr int kMost = std::max_element(kTable.begin(), kTable.end(), [](auto& a, auto& b) {
                            return a.code < b.code;
                          })->code;
    std::array<const OpDef*, kMost + 1> places{};
    for (const OpDef& d : kTable) places[static_cast<std::size_t>(d.code)] = &d;
    return places;
  }();
  return code < kByCode.size() ? kByCode[code] : nullptr;
}

}  // namespace kiln::ir
