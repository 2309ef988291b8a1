// One spatial axis of a convolution, as the inner loops read it; without the standard library, see
// depthwise_block.h.
#pragma once

namespace kiln::cpu {

/// One spatial axis of a convolution: sizes of x (`size`) and y (`outputs`), taps.
struct WindowAxis {
  long long size, outputs, taps, stride, dilation;
  long long low;  // padding before the first element of x; may be negative
  long long tap;  // stride from tap to tap of the filter, in elements; may be negative
};

}  // namespace kiln::cpu
