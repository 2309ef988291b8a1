// Keeps a stack of renamings per thread.
#include "core/ir/symbol_names.h"

#include <utility>

namespace kiln::ir {
namespace {

thread_local const SymbolNames* t_innermost = nullptr;

}  // namespace

SymbolNames::SymbolNames(std::unordered_map<std::int64_t, std::string> names)
    : names_(std::move(names)), outer_(t_innermost) {
  t_innermost = this;
}

SymbolNames::~SymbolNames() { t_innermost = outer_; }

const std::string& SymbolNames::name_of(const Symbol& symbol) {
  if (!t_innermost) return symbol.name;
  const auto found = t_innermost->names_.find(symbol.id);
  return found == t_innermost->names_.end() ? symbol.name : found->second;
}

}  // namespace kiln::ir
