// The inner loops of depthwise convolutions, compiled once for each ISA level. These declarations
// are all that those files share with others: an inline function of the standard library compiled
// for AVX-512 could be the copy that the linker keeps for every machine.
#pragma once

namespace kiln::cpu {

/// One spatial axis of a depthwise convolution: elements of x and of y, taps of the window.
struct DepthwiseAxis {
  long long size, places, taps, stride, dilation;
  long long low;  // padding before the first element of x; may be negative
  long long tap;  // from tap to tap in the filter, in elements; may be negative
};

/// Rows begin .. end - 1 of the output of one image; pixels have `channels` contiguous numbers.
struct DepthwiseBlock {
  const float* x;  // of the image, channels last, contiguous
  float* y;        // likewise
  const float* filter;  // its tap at (0, 0)
  const float* bias;    // a number for each channel is added to the sums; or null
  DepthwiseAxis rows, columns;
  long long channels;
  bool relu;  // applied last: what is not above 0 becomes 0; NaN stays
  long long begin, end;
};

/// Sums along the rows of the window, then along its columns; taps in the padding are left out.
using RunDepthwiseBlock = void (*)(const DepthwiseBlock& block);

extern const RunDepthwiseBlock kDepthwiseBlockBaseline;
extern const RunDepthwiseBlock kDepthwiseBlockAvx2;
extern const RunDepthwiseBlock kDepthwiseBlockAvx512;

}  // namespace kiln::cpu
