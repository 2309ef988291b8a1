// Infinity and NaN as double, the type in which the tests of ops write elements.
#pragma once

#include <limits>

namespace kiln::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace kiln::test
