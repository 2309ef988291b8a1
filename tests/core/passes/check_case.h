// Runs the passes of a case in variants: all combinations of float32 and float64, known and unknown
// length, forwards and in reverse.
#pragma once

#include "tests/core/passes/case_file.h"

#include <optional>
#include <string>
#include <string_view>

namespace kiln::test {

/// Checks in each variant that `before` is as printed, that the passes turn it into `after`, leave
/// `after` unchanged, and keep the results (bit for bit and on special values, too, where
/// Pass::keeps_bits): an unknown length with 0, 1 and 4 steps. Without `after`, checks that the
/// passes return the same values. Throws IoError "FILE:LINE:COLUMN: message" for a graph that
/// cannot be parsed, where FILE is `file`.
void check_case(const PassCase& one, std::string_view file);

/// The expectation with which `one` has its texts: what the passes turn `before` into, or nothing
/// if they return the same values.
std::optional<std::string> actual_after(const PassCase& one, std::string_view file);

}  // namespace kiln::test
