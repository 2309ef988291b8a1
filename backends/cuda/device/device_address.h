// Arithmetic on addresses of a device.
#pragma once

#include "backends/cuda/api/driver_types.h"

#include <cstdint>

namespace kiln::cuda {

/// The address `bytes` further on. Addresses wrap as unsigned numbers do, so that `bytes` may be
/// negative.
inline api::DeviceAddress moved(api::DeviceAddress address, std::int64_t bytes) {
  return address + static_cast<api::DeviceAddress>(bytes);
}

}  // namespace kiln::cuda
