// Colour refinement (Weisfeiler and Leman 1968): classes of boxes that arrows do not tell apart.
#pragma once

#include "core/picture/picture.h"

#include <string>
#include <vector>

namespace kiln::picture {

/// Refines `labels`, one for each box, until boxes of one colour have arrows from and to the same
/// number of boxes of each colour. Counts arrows inside of one part; `part` has the part of each
/// box, -1 for boxes of none, whose colour is -1, too. O(rounds * arrows * log); at most 64 rounds.
std::vector<int> refine_colours(const Picture& picture, const std::vector<int>& part,
                                const std::vector<std::string>& labels);

}  // namespace kiln::picture
