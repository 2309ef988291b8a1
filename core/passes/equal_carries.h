// Finds carries of two loops that are equal at every step: they start equal, and their next values
// are equal when the carries are.
#pragma once

#include "core/passes/scan_parts.h"

namespace kiln::passes {

/// For each carry of `b`, the carry of `a` that it always equals, if any. `shared` maps parameters
/// of `b` to those of `a` with the same value.
std::vector<std::optional<std::size_t>> equal_carries(const ScanParts& a, const ScanParts& b,
                                                      const ir::Replacements& shared);

/// A hash of the initial and the next value of each carry. Carries of two loops that are always
/// equal have equal hashes.
std::vector<std::size_t> carry_hashes(const ScanParts& parts);

}  // namespace kiln::passes
