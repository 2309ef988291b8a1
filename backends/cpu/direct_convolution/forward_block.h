// Declares the inner loops of forward convolutions, which are compiled once for each ISA; see
// depthwise_block.h.
#pragma once

#include "backends/cpu/direct_convolution/window_axis.h"

namespace kiln::cpu {

/// Computes rows begin .. end - 1 of y for one image, every filter of all channels.
struct ForwardBlock {
  const float* x;       // of the image, channels last, contiguous
  float* y;             // likewise, `filters` numbers for each pixel
  const float* filter;  // (rows, columns, channels, filters), contiguous
  const float* bias;    // one number per filter, added to the sums; or null
  WindowAxis rows, columns;
  long long channels, filters;
  bool relu;  // applied last: x <= 0 becomes 0; NaN stays
  long long begin, end;
};

/// Adds products in the order of the filter in memory, from 0; taps in the padding are left out.
using RunForwardBlock = void (*)(const ForwardBlock& block);

extern const RunForwardBlock kForwardBlockBaseline;
extern const RunForwardBlock kForwardBlockAvx2;
extern const RunForwardBlock kForwardBlockAvx512;

}  // namespace kiln::cpu
