// One spatial axis of a convolution: sizes of input, window and output, stride, dilation, padding.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/direct_convolution/window_axis.h"

namespace kiln::cpu {

struct Axis {
  std::int64_t size = 1, window = 1, outputs = 1, stride = 1, dilation = 1, low = 0;
};

/// Returns the axis `from_last` before the last one, or an axis of size 1.
inline Axis axis_of(const codegen::Convolution& c, std::size_t from_last) {
  if (c.sizes.size() <= from_last) return {};
  const std::size_t i = c.sizes.size() - 1 - from_last;
  return {.size = c.sizes[i],
          .window = c.windows[i],
          .outputs = c.output_sizes[i],
          .stride = c.strides[i],
          .dilation = c.dilations[i],
          .low = c.low[i]};
}

/// Returns the axis as the inner loops of a forward convolution take it. `tap`: stride from tap to
/// tap of the filter.
inline WindowAxis window_axis(const Axis& axis, std::int64_t tap) {
  return {.size = axis.size,
          .outputs = axis.outputs,
          .taps = axis.window,
          .stride = axis.stride,
          .dilation = axis.dilation,
          .low = axis.low,
          .tap = tap};
}

}  // namespace kiln::cpu
