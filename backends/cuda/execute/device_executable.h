// A compiled program on a device.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/kernel_library.h"

namespace kiln::cuda {

/// Compiles the program's kernels and uploads its constants. Throws sdk::Failure. `target` and
/// `compiler` outlive the executable.
std::unique_ptr<sdk::Executable> load_program(codegen::LoweredModule lowered,
                                              codegen::Target& target,
                                              const api::Compiler& compiler,
                                              const DeviceResources& resources,
                                              const sdk::Host& host);

}  // namespace kiln::cuda
