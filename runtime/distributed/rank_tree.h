// Combines the tensors of several ranks element by element, in the order of one fixed tree, so that
// the bits depend on the values and the number of ranks alone. No engine adds floats: it moves
// bytes, and this file adds.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <span>

namespace kiln::runtime::distributed {

enum class Reduction { Sum, Max, Min };

/// The number of leaves in the left part of a tree of `leaves` leaves: the largest power of two
/// below it. An aligned block of 2^k leaves is then a subtree, so that a tree may be evaluated in
/// levels, such as within hosts first. REQUIRES: leaves > 1.
constexpr std::size_t left_leaves(std::size_t leaves) {
  std::size_t left = 1;
  while (2 * left < leaves) left *= 2;
  return left;
}

/// Whether (dtype, reduction) has a meaning: a sum of bools has none; their Max is any, Min all.
bool is_reducible(DType dtype, Reduction reduction);

/// The dtype of a part's result that other parts are still to be combined with: float32 for a sum
/// of float16 or bfloat16, which rounds once at the end, else `dtype`.
DType partial_dtype(DType dtype, Reduction reduction);

/// Sets result[i] to the reduction of leaf[i] over `leaves`: tree(0, n), where tree(a, a + 1) is
/// leaf a and tree(a, b) combines tree(a, a + left_leaves(b - a)) with the rest. Each combination
/// rounds once, wraps, flushes subnormals and treats NaN as core/ops/op.h says of Add, Maximum and
/// Minimum, whatever the floating-point environment's flush modes are. `from` and `to` are dtype or
/// partial_dtype(dtype, reduction), of the leaves and of the result. The result may be one of the
/// leaves' memory, else shares none with them; all are aligned for their dtypes.
/// REQUIRES: is_reducible; at least one leaf; rounding to nearest.
void reduce_ranks(DType dtype, Reduction reduction, DType from, DType to,
                  std::span<const std::byte* const> leaves, std::size_t count, std::byte* result);

}  // namespace kiln::runtime::distributed
