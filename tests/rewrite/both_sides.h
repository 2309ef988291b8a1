// Evaluating both sides of a rule: operands that are special, and equality by bits.
#pragma once

#include "tests/ops/evaluate.h"

#include <string>

namespace kiln::test {

/// Zeros, subnormals, the smallest normal, one, the largest, infinities and NaN; 0, 1, -1, 2 and
/// the extremes of integers (-1 wraps); false and true.
Array special_values(DType dtype);

/// One array of one axis per dtype: all combinations of the special values, then `random` more
/// elements in [-4, 4) or [0, 4).
std::vector<Array> all_combinations(const std::vector<DType>& dtypes, int random,
                                    std::mt19937_64& generator);

/// The special values in a row, over and over, from one of them on.
Array repeated_specials(const ir::Type& type, std::mt19937_64& generator);

/// Checks equal dtypes, dims and elements by bits. NaN payloads may differ, and subnormals count as
/// zeros of their sign. `feeds`: for messages, where they have an element for each of the sides'.
void check_same(const Array& left, const Array& right, const std::vector<Array>& feeds);

}  // namespace kiln::test
