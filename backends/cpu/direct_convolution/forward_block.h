// Declares the inner loops of forward convolutions, which are compiled once for each ISA; see
// depthwise_block.h.
#pragma once

#include "backends/cpu/direct_convolution/window_axis.h"

namespace kiln::cpu {

/// Computes rows begin .. end - 1 of y, of all images together.
struct ForwardBlock {
  const float* x;       // channels last, contiguous
  float* y;             // channels last, y_pixel numbers from pixel to pixel
  const float* filter;  // (panels, rows, columns, channels, panel_filters), the last panel padded;
                        // in place: one panel of all filters
  const float* bias;  // one number per filter, added to the sums; or null
  WindowAxis rows, columns;
  long long channels, filters, panel_filters, y_pixel;
  bool relu;  // applied last: x <= 0 becomes 0, x > relu_bound becomes relu_bound; NaN stays
  float relu_bound;
  long long begin, end;
  long long group;  // rows that are computed with one panel before the next panel
};

/// Adds products in the order of the filter in memory, from 0; taps in the padding are left out.
using RunForwardBlock = void (*)(const ForwardBlock& block);

extern const RunForwardBlock kForwardBlockBaseline;
extern const RunForwardBlock kForwardBlockAvx2;
extern const RunForwardBlock kForwardBlockAvx512;

}  // namespace kiln::cpu
