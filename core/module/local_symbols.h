// LocalSymbols: numbers the symbols of one module by first appearance, so that its text and bytes
// do not depend on the ids in this process.
#pragma once

#include "core/ir/dim.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln::module {

class LocalSymbols {
 public:
  enum class Names : std::uint8_t {
    Original,
    Unique,  ///< made distinct, and made of characters that the text form allows
  };
  explicit LocalSymbols(Names names);
  LocalSymbols(const LocalSymbols&) = delete;
  LocalSymbols& operator=(const LocalSymbols&) = delete;

  /// `dim` with symbols whose ids are their numbers. REQUIRES: `dim` outlives this object.
  const ir::Dim& operator()(const ir::Dim& dim);

  struct Entry {
    std::string original;
    ir::Symbol local;
  };
  /// The symbols so far, by number.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void number_symbols_of(const ir::Dim& dim);
  void add(const ir::Symbol& symbol);
  std::string unique_word(const std::string& name);

  Names names_;
  std::vector<Entry> entries_;
  std::unordered_map<std::int64_t, std::size_t> numbers_;  // by id
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> next_suffix_;
  ir::Substitution local_;
  std::unordered_map<const ir::DimExpr*, ir::Dim> known_;
};

/// Whether the text form allows `character` in the name of a symbol.
bool is_symbol_character(char character);

}  // namespace kiln::module
