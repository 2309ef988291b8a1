// Declares the inner loops of backward weights, which are compiled once for each ISA; see
// depthwise_block.h.
#pragma once

namespace kiln::cpu {

/// Rows of pixels under one element of the window; strides in elements.
struct PixelRows {
  const float* x;
  const float* dy;
  long long rows, count;  // pixels in a row
  long long x_row, x_pixel, dy_row, dy_pixel;
  long long channels, filters;
};

/// sums[channel][filter] += the sum of x[channel] * dy[filter] over the pixels, in order. REQUIRES:
/// `filters` is a multiple of `vector_floats`.
struct BackwardWeightsBlock {
  int vector_floats;
  void (*run)(const PixelRows& pixels, float* sums);
};

extern const BackwardWeightsBlock kBackwardWeightsBlockAvx2;
extern const BackwardWeightsBlock kBackwardWeightsBlockAvx512;

}  // namespace kiln::cpu
