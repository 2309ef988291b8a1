// The version of the library for version() and plugins, defined by the build.
#pragma once

#include <string_view>

namespace kiln::runtime {

inline constexpr std::string_view kVersion = KILN_VERSION;

}  // namespace kiln::runtime
