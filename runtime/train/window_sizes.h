// The sizes of a window of a convolution.
#pragma once

#include <kiln/steps.h>

#include "runtime/train/layer_state.h"

namespace kiln::layers {

/// The sizes of a window, one per spatial axis. ValueError for another number of them.
inline std::vector<std::int64_t> window_sizes(const char* kind, const Steps& size, std::size_t axes,
                                              Where where) {
  std::vector<std::int64_t> sizes = size.steps();
  if (sizes.size() == 1) sizes.resize(axes, sizes[0]);
  if (sizes.size() != axes) {
    throw ValueError(kind, "kernel_size",
                     text("kernel_size (", join_text(sizes), ") does not have ",
                          axes == 1 ? "1 entry" : "1 or 2 entries"),
                     where);
  }
  for (const std::int64_t s : sizes) require_positive(kind, "kernel_size", s, where);
  return sizes;
}

}  // namespace kiln::layers
