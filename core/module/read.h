// Reads the binary form. The input is not trusted: counts, offsets, nesting and checksums are
// checked, and every node goes through its type rule.
#pragma once

#include "core/module/module.h"

#include <span>

namespace kiln::module {

/// Reads a module. Placeholders, variables and symbols get ids that are new in this process;
/// variables have no state. Throws IoError.
Module read_module(std::span<const std::byte> bytes, std::span<const SideConstant> constants = {});

/// Interns a text for the life of the process: file and function names of origins. Thread-safe.
const char* interned_text(const std::string& text);
/// A new id for a placeholder, variable or host call, above those that K functions assign.
std::int64_t fresh_id();

}  // namespace kiln::module
