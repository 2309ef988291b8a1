// Bytes to module. The input is not trusted: counts, offsets, nesting and checksums are checked,
// and every node goes through its type rule.
#pragma once

#include "core/module/module.h"

#include <span>

namespace kiln::module {

/// Placeholders, variables and symbols get identities that nothing else in this process has;
/// variables have no state. Throws IoError saying what is wrong.
Module read_module(std::span<const std::byte> bytes,
                   std::span<const SideConstant> constants = {});

/// The text, kept for the life of the process (source file and function names of read modules).
const char* interned_text(const std::string& text);
/// An id above those that programs give.
std::int64_t fresh_id();

}  // namespace kiln::module
