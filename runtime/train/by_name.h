// Finds an entry of a table by its name.
#pragma once

#include <kiln/error.h>

#include "core/types/nearest.h"
#include "core/types/text.h"

#include <string>
#include <vector>

namespace kiln {

/// The entry of `table` with that name. ValueError, with the nearest name, for an unknown one.
/// function, argument: of the error. what: "activation", for its text.
template <class Table>
const auto& entry_named(const Table& table, const char* function, const char* argument,
                        const char* what, const std::string& name, Where where) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (name == entry.name) return entry;
    names.emplace_back(entry.name);
  }
  throw ValueError(function, argument,
                   text("unknown ", what, " '", name, "'", did_you_mean(name, names)), where);
}

}  // namespace kiln
