// Symbols and their values, for tests of dims.
#pragma once

#include "core/ir/dim.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace kiln::test {

/// Symbols x, y, z, with the same ids in every test.
inline const ir::Dim x = ir::Dim::of({1, "x"}), y = ir::Dim::of({2, "y"}),
                     z = ir::Dim::of({3, "z"});

/// Each symbol's value by its name; none for other symbols.
inline ir::SymbolValues values(std::map<std::string, std::int64_t> given) {
  return [given = std::move(given)](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
    const auto found = given.find(symbol.name);
    if (found == given.end()) return std::nullopt;
    return found->second;
  };
}

}  // namespace kiln::test
