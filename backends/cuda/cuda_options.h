// Parses the options of an instance of the cuda backend.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/open_cublaslt.h"
#include "backends/cuda/api/open_cudnn.h"
#include "backends/cuda/api/open_driver.h"
#include "backends/cuda/api/open_nccl.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::cuda {

/// | option         | environment            | value                                             |
/// |----------------|------------------------|---------------------------------------------------|
/// | `device`       | KILN_CUDA_DEVICE       | ordinal of the device, from 0; default: in a      |
/// |                |                        | group the rank on this machine modulo the         |
/// |                |                        | devices, else 0                                   |
/// | `driver`       | KILN_CUDA_DRIVER       | folders of libcuda.so.1, separated by colons      |
/// | `libraries`    | KILN_CUDA_LIBRARIES    | folders of NVIDIA's other libraries, likewise     |
/// | `memory_limit` | KILN_CUDA_MEMORY_LIMIT | maximum bytes of device memory; default: no limit |
/// | `arch`         | KILN_CUDA_ARCH         | sm_80 or newer: compiles for it without a device; |
/// |                |                        | programs can be dumped, but not called            |
/// | `graphs`       | KILN_CUDA_GRAPHS       | true: repeated calls run as CUDA graphs; false:   |
/// |                |                        | kernel by kernel; default true                    |
/// | `tf32`         | KILN_CUDA_TF32         | true: matmuls and convolutions of float32 may     |
/// |                |                        | round their operands to TF32 (10-bit mantissa);   |
/// |                |                        | default false                                     |
/// | `deterministic`| KILN_CUDA_DETERMINISTIC| false: convolutions may differ in their last bits |
/// |                |                        | from call to call; default true                   |
/// | `collectives`  | KILN_CUDA_COLLECTIVES  | nccl: collectives run on the device by NCCL;      |
/// |                |                        | host: they copy through host memory; default nccl |
///
/// The host passes the options of set_backend_options, which override the environment variables,
/// and the options of keras.json whose variables are not set. An empty value counts as not set.
/// Folders are absolute. With `driver`, open_driver() does not check for a device node. Arenas of
/// calls count against `memory_limit` rounded up to the device's allocation granularity, 2 MiB.
struct CudaOptions {
  std::optional<int> device;
  std::int64_t memory_limit = INT64_MAX;
  bool uses_graphs = true;
  int architecture = 0;  // 90: sm_90; 0: that of the device
  std::string architecture_source;  // "arch" or "KILN_CUDA_ARCH", where the user set it
  api::DriverSettings driver;
  api::CompilerSettings compiler;
  api::CublasLtSettings cublaslt;
  api::CudnnSettings cudnn;
  api::NcclSettings nccl;
  bool collectives_through_host = false;
  bool tf32 = false;
  bool deterministic = true;
};

/// Throws sdk::Failure INVALID_ARGUMENT for an unknown option and for a value that is not valid.
/// A set-user-ID program ignores the environment.
CudaOptions read_options(const sdk::Options& options);

/// The names of all options.
std::vector<std::string_view> option_names();

}  // namespace kiln::cuda
