// Declares the inner loops of depthwise convolutions, which are compiled once for each ISA. Files
// compiled for an ISA share only these declarations with others: an inline function of the standard
// library compiled for AVX-512 could become the copy that the linker keeps for every machine.
#pragma once

#include "backends/cpu/direct_convolution/window_axis.h"

namespace kiln::cpu {

/// Computes rows begin .. end - 1 of y for one image; pixels have `channels` contiguous numbers.
struct DepthwiseBlock {
  const float* x;  // of the image, channels last, contiguous
  float* y;  // likewise
  const float* filter;  // its tap at (0, 0)
  const float* bias;  // one number per channel, added to the sums; or null
  WindowAxis rows, columns;
  long long channels;
  bool relu;  // applied last: x <= 0 becomes 0, x > relu_bound becomes relu_bound; NaN stays
  float relu_bound;
  long long begin, end;
};

/// Adds taps row by row of the window, each row in order; taps in the padding are left out.
using RunDepthwiseBlock = void (*)(const DepthwiseBlock& block);

extern const RunDepthwiseBlock kDepthwiseBlockBaseline;
extern const RunDepthwiseBlock kDepthwiseBlockAvx2;
extern const RunDepthwiseBlock kDepthwiseBlockAvx512;

}  // namespace kiln::cpu
