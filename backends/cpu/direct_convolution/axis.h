// One spatial axis of a convolution.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

namespace kiln::cpu {

struct Axis {
  std::int64_t size = 1, window = 1, places = 1, stride = 1, dilation = 1, low = 0;
};

/// The axis that many before the last one; one of size 1 where there is none.
inline Axis axis_of(const codegen::Convolution& c, std::size_t from_last) {
  if (c.sizes.size() <= from_last) return {};
  const std::size_t i = c.sizes.size() - 1 - from_last;
  return {c.sizes[i], c.windows[i], c.places[i], c.strides[i], c.dilations[i], c.low[i]};
}

}  // namespace kiln::cpu
