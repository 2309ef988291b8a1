// Loads a lowered program on a device: the sdk::Executable of the cuda backend.
#pragma once

#include "backends/codegen/target.h"
#include "backends/cuda/device/device_buffer.h"
#include "backends/cuda/execute/filter_transposition.h"
#include "backends/cuda/execute/kernel_library.h"
#include "backends/cuda/execute/rank_kernels.h"
#include "backends/cuda/libraries/communicators.h"
#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/open_convolutions.h"

namespace kiln::cuda {

/// The libraries that programs call. They outlive the programs.
struct DeviceLibraries {
  const api::Compiler& compiler;
  const MatmulLibrary* matmuls;  // null: no matmul is claimed
  const DeviceConvolutions& convolutions;
  const FilterTranspositions& transpositions;
  const RankKernels& rank_kernels;
  Communicators* communicators;  // of a program whose collectives NCCL runs, else null
};

/// Compiles the program's kernels and uploads its constants. Throws sdk::Failure. REQUIRES:
/// `target` outlives the executable.
std::unique_ptr<sdk::Executable> load_program(codegen::LoweredModule lowered,
                                              codegen::Target& target,
                                              const DeviceLibraries& libraries,
                                              const DeviceResources& resources,
                                              const sdk::Host& host);

}  // namespace kiln::cuda
