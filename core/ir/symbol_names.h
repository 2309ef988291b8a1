// SymbolNames: temporary names for symbols, with which messages name dims as the function does.
#pragma once

#include "core/ir/symbol.h"

#include <unordered_map>

namespace kiln::ir {

/// Renames symbols on this thread for its scope. Scopes nest; only the innermost one applies.
class SymbolNames {
 public:
  /// `names`: from the id of a symbol to its name.
  explicit SymbolNames(std::unordered_map<std::int64_t, std::string> names);
  ~SymbolNames();
  SymbolNames(const SymbolNames&) = delete;
  SymbolNames& operator=(const SymbolNames&) = delete;

  /// The name that the innermost scope of this thread gives the symbol, else its own.
  static const std::string& name_of(const Symbol& symbol);

 private:
  std::unordered_map<std::int64_t, std::string> names_;
  const SymbolNames* outer_;
};

}  // namespace kiln::ir
