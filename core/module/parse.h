// Parses the text form (.kir). The input is not trusted: sizes, counts and nesting are limited, and
// every node goes through its type rule, which must infer the type in the text.
#pragma once

#include "core/module/module.h"

#include <string_view>

namespace kiln::module {

inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// Parses a module. Placeholders, variables and symbols get ids that are new in this process;
/// variables have no state. Throws IoError "FILE:LINE:COLUMN: message", where FILE is `file`.
Module parse_module(std::string_view text, std::string_view file = "module");

}  // namespace kiln::module
