// The symbols of one module, numbered by first appearance, so that what is written does not depend
// on the ids that they have in this process.
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
    Unique,  ///< words of the text form: no two are equal
  };
  explicit LocalSymbols(Names names) : names_(names) {}

  /// `dim` in symbols whose ids are the numbers. The argument must live as long as this object.
  const ir::Dim& operator()(const ir::Dim& dim);

  struct Entry {
    std::string original;
    ir::Symbol local;
  };
  /// In the order of the numbers.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  ir::Dim number_symbols_of(const ir::Dim& dim);
  void add(const ir::Symbol& symbol);
  std::string unique_word(const std::string& name);

  Names names_;
  std::vector<Entry> entries_;
  std::unordered_map<std::int64_t, std::size_t> numbers_;  // by id
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> next_suffix_;
  std::unordered_map<const ir::DimExpr*, ir::Dim> known_;
};

/// Whether `character` may be in a symbol's word.
bool is_symbol_character(char character);

}  // namespace kiln::module
