// Adds the bias and applies ReLU to the output of a convolution while it is still in the cache.
// oneDNN's own bias makes some of its convolutions twice as slow, and its ReLU turns NaN into 0.
#pragma once

#include <cstddef>
#include <limits>

namespace kiln::cpu {

struct ConvolutionEpilogue {
  const float* bias = nullptr;  // one number per column, or null
  bool relu = false;  // replaces x <= 0 by 0 and x > relu_bound by relu_bound; keeps NaN
  float relu_bound = std::numeric_limits<float>::infinity();
};

/// `values`: `rows` contiguous rows of `columns` numbers. Any thread.
void add_bias_and_relu(float* values, std::size_t rows, std::size_t columns,
                       const ConvolutionEpilogue& epilogue) noexcept;

}  // namespace kiln::cpu
