// The version of the library, as version() and plugins see it.
#pragma once

#include <string_view>

namespace kiln::runtime {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace kiln::runtime
