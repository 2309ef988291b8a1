// Converts an index of signed type to the one that containers take.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln {

/// `i` for a subscript: dims[at(axis)]. REQUIRES: i >= 0.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace kiln
