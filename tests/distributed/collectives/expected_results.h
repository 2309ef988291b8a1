// Collectives as plain loops over the operands of all ranks, element by element, in the order of
// the tree over ranks. Shares no arithmetic with the library: neither rank_tree.h, nor the meaning
// of ops, nor the conversions of halves.
#pragma once

#include <kiln/array.h>

#include <cstdint>
#include <vector>

namespace kiln::testing {

enum class Combination { Sum, Max, Min, Mean };

/// The operands combined element by element. Mean: of floating point.
Array combined(const std::vector<Array>& operands, Combination combination);
/// The operands one after the other along the axis.
Array concatenated(const std::vector<Array>& operands, std::size_t axis);
/// Part `rank` of `ranks` equal parts of the axis.
Array part_of(const Array& array, std::size_t axis, std::int64_t rank, std::int64_t ranks);

/// The operand of a rank. Floats whose sums round differently in any other order, with infinities,
/// NaN, zeros of both signs and subnormals among many of them; numbers that wrap; equal elements of
/// several ranks.
Array operand_of(DType dtype, const std::vector<std::int64_t>& dims, std::uint64_t rank);

}  // namespace kiln::testing
