// Finds the known name closest to a misspelled one, for "did you mean" hints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The Levenshtein distance: insertions, deletions and substitutions from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The closest of `names`, if its edit distance is at most 2; otherwise empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);
/// "; did you mean 'x'?" with nearest_name(), or empty: appended to error texts.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace kiln
