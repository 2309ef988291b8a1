// The attributes of the one device.
#pragma once

#include "backends/cuda/api/driver_api.h"

namespace kiln::fake_cuda {

using namespace cuda::api;

inline constexpr int kDriverVersion = 12040;
inline constexpr int kComputeCapability = 90;

/// -1 for an unknown attribute.
int value_of(DeviceAttribute attribute);

}  // namespace kiln::fake_cuda
