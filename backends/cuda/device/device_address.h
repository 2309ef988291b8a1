// Adds signed offsets to device addresses.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstdint>

namespace kiln::cuda {

/// address + bytes. Unsigned arithmetic wraps around, so `bytes` may be negative.
inline api::DeviceAddress offset_by(api::DeviceAddress address, std::int64_t bytes) {
  return address + static_cast<api::DeviceAddress>(bytes);
}

}  // namespace kiln::cuda
