// The version of the library, as version() and plugins see it; the build defines it.
#pragma once

#include <string_view>

namespace kiln::runtime {

inline constexpr std::string_view kVersion = KILN_VERSION;

}  // namespace kiln::runtime
