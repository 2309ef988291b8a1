// Symbol: an unknown size, the indeterminate of a symbolic Dim.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kiln::ir {

struct SymbolSource;

/// Identity and name of an unknown size. Symbols with equal ids are the same.
struct Symbol {
  std::int64_t id = 0;
  std::string name;
  /// The host call that determines its value (symbol_source.h) if it is data-dependent; null if it
  /// is a dim of an input.
  std::shared_ptr<const SymbolSource> source = {};
  bool operator==(const Symbol& other) const { return id == other.id; }
};

}  // namespace kiln::ir
