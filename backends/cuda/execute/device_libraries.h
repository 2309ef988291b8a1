// The libraries of an instance, as its programs use them.
#pragma once

#include "backends/cuda/execute/attention_kernels.h"
#include "backends/cuda/execute/rank_kernels.h"
#include "backends/cuda/libraries/communicators.h"
#include "backends/cuda/libraries/cublaslt.h"
#include "backends/cuda/libraries/device_cudnn.h"

namespace kiln::cuda {

/// The libraries that programs call. They outlive the programs.
struct DeviceLibraries {
  const api::Compiler& compiler;
  const MatmulLibrary* matmuls;  // null: no matmul is claimed
  const DeviceCudnn& cudnn;
  const AttentionKernels& attention_kernels;
  const RankKernels& rank_kernels;
  Communicators* communicators;  // of a program whose collectives NCCL runs, else null
};

}  // namespace kiln::cuda
