// What a convolution does to what it just wrote, while that is still near: bias and relu. The
// library's own bias makes some of its convolutions twice as slow, and its relu makes 0 of NaN.
#pragma once

#include <cstddef>

namespace kiln::cpu {

/// `values`: rows of so many columns. `bias`: a number for each column, or null.
void add_bias_and_relu(float* values, std::size_t rows, std::size_t columns, const float* bias,
                       bool relu) noexcept;

}  // namespace kiln::cpu
