// Converts status codes of the driver, NVRTC, cuBLASLt, cuDNN and NCCL to errors of the plugin.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/cublaslt_api.h"
#include "backends/cuda/api/cudnn_api.h"
#include "backends/cuda/api/driver_api.h"
#include "backends/cuda/api/nccl_api.h"
#include "backends/cuda/api/nvrtc_api.h"

#include <string>

namespace kiln::cuda::api {

/// "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected", by cuGetErrorName and
/// cuGetErrorString. If they fail: the name that is declared here, without a text.
std::string text_of(const DriverFunctions& driver, Status status);

/// Whether the error is sticky: every later call in the context fails, and device memory cannot be
/// read. Such errors have KILN_CODE_DATA_LOSS.
bool ends_device(Status status);

/// Whether a call may have failed because device memory is exhausted. The libraries report some
/// failed allocations, such as of modules that they load lazily, by general codes.
bool may_lack_memory(Status status);
bool may_lack_memory(CublasStatus status);
bool may_lack_memory(CudnnStatus status);

/// Builds the error "cannot `action`: STATUS" with the native code ("CUDA", status). `action`: a
/// verb with its object.
sdk::Failure failure(const DriverFunctions& driver, Status status, const std::string& action);

/// Throws failure() unless the status is Success.
inline void check(const DriverFunctions& driver, Status status, const char* action) {
  if (status != Status::Success) throw failure(driver, status, action);
}

/// "NVRTC_ERROR_COMPILATION (6)".
std::string text_of(const NvrtcFunctions& nvrtc, NvrtcStatus status);

/// The same with native code ("NVRTC", status).
sdk::Failure failure(const NvrtcFunctions& nvrtc, NvrtcStatus status, const std::string& action);

/// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
std::string text_of(const CublasLtFunctions& cublaslt, CublasStatus status);

/// The same with native code ("cuBLASLt", status).
sdk::Failure failure(const CublasLtFunctions& cublaslt, CublasStatus status,
                     const std::string& action);

/// Whether the status is CUDNN_STATUS_NOT_SUPPORTED or one of its detailed forms, 3000 to 3999: the
/// library, or one of its engines, cannot compute the operation on this device.
bool is_not_supported(CudnnStatus status);

/// "CUDNN_STATUS_NOT_SUPPORTED (3000)".
std::string text_of(const CudnnFunctions& cudnn, CudnnStatus status);

/// The same with native code ("cuDNN", status), and the library's text of the thread's last error.
sdk::Failure failure(const CudnnFunctions& cudnn, CudnnStatus status, const std::string& action);

/// "unhandled system error (2)", as ncclGetErrorString words it.
std::string text_of(const NcclFunctions& nccl, NcclStatus status);

/// The same with native code ("NCCL", status), and the library's text of the process's last error.
sdk::Failure failure(const NcclFunctions& nccl, NcclStatus status, const std::string& action);

}  // namespace kiln::cuda::api
