// Names all that decides the bits of results beside the program.
#pragma once

#include "backends/codegen/plan/plan.h"
#include "backends/cuda/device/device.h"
#include "backends/cuda/execute/device_libraries.h"

#include <string>

namespace kiln::cuda {

/// "sm_90 nvrtc 13.0 cublaslt 13.1.0 tf32": the device, NVRTC, the libraries that the program
/// calls, and the options of an instance that are not the default.
std::string machine_text(const Device& device, const DeviceLibraries& libraries,
                         const codegen::Program& program);

}  // namespace kiln::cuda
