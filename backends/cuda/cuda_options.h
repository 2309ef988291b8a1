// The options of an instance of the cuda backend.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_cublaslt.h"
#include "backends/cuda/api/open_driver.h"

#include <cstdint>

namespace kiln::cuda {

/// | option         | environment            | value                                             |
/// |----------------|------------------------|---------------------------------------------------|
/// | `device`       | KILN_CUDA_DEVICE       | number of the device, from 0; default 0           |
/// | `driver`       | KILN_CUDA_DRIVER       | folders of libcuda.so.1, separated by colons      |
/// | `libraries`    | KILN_CUDA_LIBRARIES    | folders of NVIDIA's other libraries, likewise     |
/// | `memory_limit` | KILN_CUDA_MEMORY_LIMIT | most bytes of device memory; default: no limit    |
/// | `architecture` | KILN_CUDA_ARCH         | such as sm_90: code is made for it, without any   |
/// |                |                        | device, and cannot be called; for dumps           |
/// | `graphs`       | KILN_CUDA_GRAPHS       | true: repeated calls run as CUDA graphs; false:   |
/// |                |                        | kernel by kernel; default true                    |
/// | `tf32`         | KILN_CUDA_TF32         | true: matmuls of float32 may round their operands |
/// |                |                        | to TF32 (10 bits after the point); default false  |
///
/// An option wins over its variable; an empty value counts as none. Folders are absolute. With
/// `driver` no device node is looked for.
struct CudaOptions {
  int device = 0;
  std::int64_t memory_limit = INT64_MAX;
  bool uses_graphs = true;
  int architecture = 0;  // 90: sm_90; 0: that of the device
  api::DriverSettings driver;
  api::CompilerSettings compiler;
  api::CublasLtSettings cublaslt;
  bool tf32 = false;
};

/// Throws sdk::Failure of INVALID_ARGUMENT for an unknown option and for a value that is none.
CudaOptions read_options(const sdk::Options& options);

}  // namespace kiln::cuda
