// Queues a memset of device memory on a stream.
#pragma once

#include "backends/cuda/device/stream.h"

namespace kiln::cuda {

/// Throws sdk::Failure. REQUIRES: a ScopedContext of the thread.
inline void fill_with_zeros(const Stream& stream, api::DeviceAddress address, std::int64_t bytes) {
  stream.submit(
      [&] {
        return stream.device().driver().memset_8_async(address, 0, static_cast<std::size_t>(bytes),
                                                       stream.handle());
      },
      "fill a tensor with zeros");
}

}  // namespace kiln::cuda
