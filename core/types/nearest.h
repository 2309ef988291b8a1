// The nearest of some names, for errors about a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The number of insertions, deletions and changes that make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The name at the smallest edit distance, which is at most 2; empty when there is none.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);
/// "; did you mean 'x'?" with that name, or nothing: the end of an error's text.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace kiln
