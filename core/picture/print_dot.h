// Writes pictures in Graphviz's language.
#pragma once

#include "core/picture/picture.h"

#include <string_view>

namespace kiln::picture {

/// The text as part of a quoted string of the DOT language, on one line of at most `limit`
/// characters. Any bytes are valid: control characters and malformed UTF-8 are replaced.
std::string escaped(std::string_view text, std::size_t limit);

/// The picture as a digraph: groups are clusters, a box has at most 12 lines of work.
std::string print_dot(const Picture& picture);

}  // namespace kiln::picture
