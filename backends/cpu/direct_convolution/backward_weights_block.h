// Declares the inner loops of backward weights, which are compiled once for each ISA; see
// depthwise_block.h.
#pragma once

namespace kiln::cpu {

/// Rows of pixels under one element of the window; strides in elements.
struct PixelRows {
  const float* x;         // the first channel of the first pixel
  const float* dy;        // the first filter of its output pixel
  long long rows, count;  // count: pixels of a row
  long long x_row, x_pixel, dy_row, dy_pixel;
  long long channels, filters;
};

/// sums[channel][filter] += the sum of x[channel] * dy[filter] over the pixels, in order. REQUIRES:
/// `filters` is a multiple of BackwardWeightsBlock::vector_floats.
using RunBackwardWeightsBlock = void (*)(const PixelRows& pixels, float* sums);

struct BackwardWeightsBlock {
  int vector_floats;  // floats of a vector of the ISA
  RunBackwardWeightsBlock run;
};

extern const BackwardWeightsBlock kBackwardWeightsBlockAvx2;
extern const BackwardWeightsBlock kBackwardWeightsBlockAvx512;

}  // namespace kiln::cpu
