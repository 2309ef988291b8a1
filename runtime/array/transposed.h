// Permutes the axes of an Array.
#pragma once

#include <kiln/array.h>

#include <cstdint>
#include <span>

namespace kiln::runtime {

/// Axis i of the result is axis axes[i] of the array. REQUIRES: a permutation of its axes.
Array transposed_array(const Array& array, std::span<const std::int64_t> axes);

}  // namespace kiln::runtime
