// Names of symbols that hold for a while on one thread: a message names sizes as its function does.
#pragma once

#include "core/ir/symbol.h"

#include <unordered_map>

namespace kiln::ir {

/// While it lives, these symbols print under the given names on this thread. Scopes nest; the
/// innermost one alone applies.
class SymbolNames {
 public:
  /// By id.
  explicit SymbolNames(std::unordered_map<std::int64_t, std::string> names);
  ~SymbolNames();
  SymbolNames(const SymbolNames&) = delete;
  SymbolNames& operator=(const SymbolNames&) = delete;

  /// The name that the present scope of this thread gives the symbol, else its own.
  static const std::string& name_of(const Symbol& symbol);

 private:
  std::unordered_map<std::int64_t, std::string> names_;
  const SymbolNames* outer_;
};

}  // namespace kiln::ir
