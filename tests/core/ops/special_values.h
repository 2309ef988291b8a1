// Special operands, and equality by bits, for tests that evaluate both sides of a rule or a pass.
#pragma once

#include "tests/core/ops/evaluate.h"

#include <string>

namespace kiln::test {

/// Zeros, subnormals, the smallest normal, one, the largest, infinities and NaN; 0, 1, -1, 2 and
/// the extremes of integers (-1 wraps); false and true.
Array special_values(DType dtype);

/// One array of one axis per dtype: all combinations of the special values, then `random` more
/// elements in [-4, 4) or [0, 4).
std::vector<Array> all_combinations(const std::vector<DType>& dtypes, int random,
                                    std::mt19937_64& generator);

/// The special values repeated, from a random one of them on.
Array repeated_specials(const ir::Type& type, std::mt19937_64& generator);

/// Empty for equal dtypes, dims and elements by bits; else the first difference as text. NaN
/// payloads may differ, and subnormals count as zeros of their sign.
std::string bit_difference(const Array& left, const Array& right);

}  // namespace kiln::test
