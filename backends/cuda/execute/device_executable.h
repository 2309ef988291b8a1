// Loads a lowered program on a device: the sdk::Executable of the cuda backend.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/device_libraries.h"

namespace kiln::cuda {

/// Compiles the program's kernels and uploads its constants. Throws sdk::Failure. REQUIRES:
/// `target` outlives the executable.
std::unique_ptr<sdk::Executable> load_program(codegen::LoweredModule lowered,
                                              codegen::Target& target,
                                              const DeviceLibraries& libraries,
                                              const DeviceResources& resources,
                                              const sdk::Host& host);

}  // namespace kiln::cuda
