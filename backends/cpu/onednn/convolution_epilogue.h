// Adds the bias and applies ReLU to the output of a convolution while it is still in the cache.
// oneDNN's own bias makes some of its convolutions twice as slow, and its ReLU turns NaN into 0.
#pragma once

#include <cstddef>

namespace kiln::cpu {

/// `values`: `rows` contiguous rows of `columns` numbers. `bias`: one number per column, or null.
/// ReLU replaces x <= 0 by 0 and keeps NaN. Any thread.
void add_bias_and_relu(float* values, std::size_t rows, std::size_t columns, const float* bias,
                       bool relu) noexcept;

}  // namespace kiln::cpu
