// Text (.kir) to module. The input is not trusted: sizes, counts and nesting are limited, and every
// node goes through its type rule, whose result must be the type that the text gives.
#pragma once

#include "core/module/module.h"

#include <string_view>

namespace kiln::module {

inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// `file` is the name in errors. Placeholders, variables and symbols get identities that nothing
/// else in this process has; variables have no state. Throws IoError: "file:line:column: what".
Module parse_module(std::string_view text, std::string_view file = "module");

}  // namespace kiln::module
