// The symbols of which dimensions are made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kiln::ir {

struct SymbolSource;

/// Identity and name of an unknown size. Two symbols are the same when their ids are.
struct Symbol {
  std::int64_t id = 0;
  std::string name;
  /// The call that gives it its value (symbol_source.h), when that is no input of the program.
  std::shared_ptr<const SymbolSource> source = {};
  bool operator==(const Symbol& other) const { return id == other.id; }
};

}  // namespace kiln::ir
