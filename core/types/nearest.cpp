// Computes the Levenshtein distance with one row of the dynamic-programming table.
#include "core/types/nearest.h"

#include <algorithm>
#include <utility>

namespace kiln {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kMaxDistance = 2;
  constexpr std::size_t kMaxLength = 64;  // of a name that is worth comparing
  if (name.size() > kMaxLength) return "";
  std::string nearest;
  std::size_t best = kMaxDistance + 1;
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(candidate, name);
    if (distance >= best || distance >= name.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace kiln
