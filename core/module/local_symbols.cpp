// Numbers symbols such that bytes round-trip: a reader assigns ids in the order of the numbers, and
// the module that it returns is written as equal bytes.
#include "core/module/local_symbols.h"

#include "core/ir/symbol_names.h"

namespace kiln::module {
namespace {

/// Subtracted from the numbers of known symbols: temporary ids below all that are in use.
constexpr std::int64_t kBelowIds = std::int64_t{1} << 62;

}  // namespace

bool is_symbol_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == ':' || c == '\'' || c == '~';
}

LocalSymbols::LocalSymbols(Names names)
    : names_(names), local_([this](const ir::Symbol& symbol) {
        return std::optional(ir::Dim::of(entries_[numbers_.at(symbol.id)].local));
      }) {}

const ir::Dim& LocalSymbols::operator()(const ir::Dim& dim) {
  if (dim.is_static()) return dim;
  const auto found = known_.find(dim.expr());
  if (found != known_.end()) return found->second;
  number_symbols_of(dim);
  return known_.emplace(dim.expr(), local_(dim)).first->second;
}

void LocalSymbols::number_symbols_of(const ir::Dim& dim) {
  bool all_known = true;
  for_each_symbol(dim, [&](const ir::Symbol& symbol) {
    all_known = all_known && numbers_.count(symbol.id) != 0;
  });
  if (all_known) return;
  // New symbols are numbered in the order in which they occur after the known ones are replaced by
  // their numbers. That order does not depend on ids, so a reader reproduces it.
  const ir::Dim ordered = substitute(dim, [&](const ir::Symbol& symbol) -> std::optional<ir::Dim> {
    const auto known = numbers_.find(symbol.id);
    if (known != numbers_.end()) {
      return ir::Dim::of(
          {static_cast<std::int64_t>(known->second) - kBelowIds, entries_[known->second].original});
    }
    return std::nullopt;
  });
  for_each_symbol(ordered, [&](const ir::Symbol& symbol) {
    if (symbol.id >= 0 && numbers_.count(symbol.id) == 0) add(symbol);
  });
}

void LocalSymbols::add(const ir::Symbol& symbol) {
  const std::size_t number = entries_.size();
  numbers_.emplace(symbol.id, number);
  const std::string& original = ir::SymbolNames::name_of(symbol);
  std::string name = names_ == Names::Unique ? unique_word(original) : original;
  entries_.push_back({original, {static_cast<std::int64_t>(number), std::move(name)}});
}

std::string LocalSymbols::unique_word(const std::string& name) {
  std::string word;
  for (const char c : name) word += is_symbol_character(c) ? c : '_';
  if (word.empty() || !is_symbol_character(word[0]) || word[0] < 'A') word.insert(0, "_");
  std::string unique = word;
  std::size_t& next = next_suffix_.emplace(word, 2).first->second;
  while (!taken_.insert(unique).second) unique = word + "~" + std::to_string(next++);
  return unique;
}

}  // namespace kiln::module
