// Sticky errors: the statuses that the driver documents to leave the process in an inconsistent
// state, and a destroyed context.
#include "backends/cuda/api/api_failure.h"

#include "backends/cuda/api/reported.h"
#include "core/types/escaped_text.h"

namespace kiln::cuda::api {
namespace {

std::string declared_name(Status status) {
  switch (status) {
#define KILN_CUDA_NAME(name, symbol, value) \
  case Status::name: return #symbol;
    KILN_CUDA_STATUS(KILN_CUDA_NAME)
#undef KILN_CUDA_NAME
  }
  return "unknown CUDA error";
}

std::uint32_t code_of(Status status) {
  if (ends_device(status)) return KILN_CODE_DATA_LOSS;
  switch (status) {
    case Status::OutOfMemory: return KILN_CODE_RESOURCE_EXHAUSTED;
    case Status::NotPermitted: return KILN_CODE_PERMISSION_DENIED;
    case Status::NotSupported: return KILN_CODE_UNIMPLEMENTED;
    case Status::StubLibrary:
    case Status::UnsupportedPtxVersion:
    case Status::SystemDriverMismatch: return KILN_CODE_FAILED_PRECONDITION;
    case Status::NotInitialized:
    case Status::Deinitialized:
    case Status::DeviceUnavailable:
    case Status::NoDevice:
    case Status::OperatingSystem:
    case Status::SystemNotReady: return KILN_CODE_UNAVAILABLE;
    default: return KILN_CODE_INTERNAL;
  }
}

/// The name or description of a status from the driver; empty where the driver has none.
template <class GetText>
std::string driver_text(GetText get_text, Status status) {
  const char* text = nullptr;
  if (get_text == nullptr || get_text(status, &text) != Status::Success) return "";
  return reported_text(text);
}

/// The name of a status from a library, else "unknown `library` error".
template <class GetText, class LibraryStatus>
std::string name_of(GetText get_text, LibraryStatus status, const char* library) {
  const std::string name = get_text == nullptr ? "" : reported_text(get_text(status));
  return name.empty() ? "unknown " + std::string(library) + " error" : name;
}

std::uint32_t code_of(CublasStatus status) {
  switch (status) {
    case CublasStatus::AllocationFailed: return KILN_CODE_RESOURCE_EXHAUSTED;
    case CublasStatus::NotInitialized: return KILN_CODE_UNAVAILABLE;
    case CublasStatus::ArchitectureMismatch:
    case CublasStatus::NotSupported: return KILN_CODE_UNIMPLEMENTED;
    default: return KILN_CODE_INTERNAL;
  }
}

std::uint32_t code_of(CudnnStatus status) {
  if (is_not_supported(status)) return KILN_CODE_UNIMPLEMENTED;
  switch (status) {
    case CudnnStatus::HostAllocationFailed:
    case CudnnStatus::DeviceAllocationFailed: return KILN_CODE_RESOURCE_EXHAUSTED;
    case CudnnStatus::NotInitialized: return KILN_CODE_UNAVAILABLE;
    case CudnnStatus::VersionMismatch:
    case CudnnStatus::LoadingFailed: return KILN_CODE_FAILED_PRECONDITION;
    default: return KILN_CODE_INTERNAL;
  }
}

std::uint32_t code_of(NcclStatus status) {
  switch (status) {
    case NcclStatus::Remote: return KILN_CODE_ABORTED;
    case NcclStatus::System: return KILN_CODE_UNAVAILABLE;
    default: return KILN_CODE_INTERNAL;
  }
}

bool has_category(CudnnStatus status, CudnnStatus category) {
  constexpr std::uint32_t kStatuses = 1000;
  return static_cast<std::uint32_t>(status) / kStatuses ==
         static_cast<std::uint32_t>(category) / kStatuses;
}

/// Empty where the library has none.
std::string last_error(const CudnnFunctions& cudnn) {
  char text[512] = "";
  if (cudnn.get_last_error != nullptr) cudnn.get_last_error(text, sizeof(text));
  text[sizeof(text) - 1] = 0;
  std::string_view out = text;
  while (out.ends_with('\n')) out.remove_suffix(1);
  return escaped_text(out);
}

std::string number_of(auto status) {
  return " (" + std::to_string(static_cast<std::uint32_t>(status)) + ")";
}

}  // namespace

bool ends_device(Status status) {
  switch (status) {
    case Status::EccUncorrectable:
    case Status::NvlinkUncorrectable:
    case Status::IllegalAddress:
    case Status::LaunchTimeout:
    case Status::ContextIsDestroyed:
    case Status::Assert:
    case Status::HardwareStackError:
    case Status::IllegalInstruction:
    case Status::MisalignedAddress:
    case Status::InvalidAddressSpace:
    case Status::InvalidPc:
    case Status::LaunchFailed:
    case Status::MpsClientTerminated:
    case Status::Contained:
    case Status::ExternalDevice:
    case Status::Unknown: return true;
    default: return false;
  }
}

bool may_lack_memory(Status status) { return status == Status::OutOfMemory; }

bool may_lack_memory(CublasStatus status) {
  switch (status) {
    case CublasStatus::AllocationFailed:
    case CublasStatus::NotInitialized:
    case CublasStatus::ExecutionFailed:
    case CublasStatus::InternalError: return true;
    default: return false;
  }
}

bool may_lack_memory(CudnnStatus status) {
  switch (status) {
    case CudnnStatus::DeviceAllocationFailed:
    case CudnnStatus::NotInitialized:
    case CudnnStatus::InternalError: return true;
    default: return has_category(status, CudnnStatus::ExecutionFailed);
  }
}

std::string text_of(const DriverFunctions& driver, Status status) {
  const std::string name = driver_text(driver.get_error_name, status);
  const std::string text = driver_text(driver.get_error_string, status);
  return (name.empty() ? declared_name(status) : name) + number_of(status) +
         (text.empty() ? "" : ": " + text);
}

sdk::Failure failure(const DriverFunctions& driver, Status status, const std::string& action) {
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(driver, status));
  error.native("CUDA", static_cast<std::int64_t>(status));
  return error;
}

std::string text_of(const NvrtcFunctions& nvrtc, NvrtcStatus status) {
  return name_of(nvrtc.get_error_string, status, "NVRTC") + number_of(status);
}

sdk::Failure failure(const NvrtcFunctions& nvrtc, NvrtcStatus status, const std::string& action) {
  const bool no_memory = status == NvrtcStatus::OutOfMemory;
  sdk::Failure error(no_memory ? KILN_CODE_RESOURCE_EXHAUSTED : KILN_CODE_INTERNAL,
                     "cannot " + action + ": " + text_of(nvrtc, status));
  error.native("NVRTC", static_cast<std::int64_t>(status));
  return error;
}

std::string text_of(const CublasLtFunctions& cublaslt, CublasStatus status) {
  return name_of(cublaslt.get_status_name, status, "cuBLASLt") + number_of(status);
}

sdk::Failure failure(const CublasLtFunctions& cublaslt, CublasStatus status,
                     const std::string& action) {
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(cublaslt, status));
  error.native("cuBLASLt", static_cast<std::int64_t>(status));
  return error;
}

bool is_not_supported(CudnnStatus status) {
  return has_category(status, CudnnStatus::NotSupported);
}

std::string text_of(const CudnnFunctions& cudnn, CudnnStatus status) {
  return name_of(cudnn.get_error_string, status, "cuDNN") + number_of(status);
}

sdk::Failure failure(const CudnnFunctions& cudnn, CudnnStatus status, const std::string& action) {
  const std::string reason = last_error(cudnn);
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(cudnn, status) +
                                          (reason.empty() ? "" : ": " + reason));
  error.native("cuDNN", static_cast<std::int64_t>(status));
  return error;
}

std::string text_of(const NcclFunctions& nccl, NcclStatus status) {
  return name_of(nccl.get_error_string, status, "NCCL") + number_of(status);
}

sdk::Failure failure(const NcclFunctions& nccl, NcclStatus status, const std::string& action) {
  const char* const last = nccl.get_last_error == nullptr ? nullptr : nccl.get_last_error(nullptr);
  const std::string reason = reported_text(last);
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(nccl, status) +
                                          (reason.empty() ? "" : ": " + reason));
  error.native("NCCL", static_cast<std::int64_t>(status));
  return error;
}

}  // namespace kiln::cuda::api
