// Sticky errors: the statuses that the driver documents to leave the process in an inconsistent
// state, and a destroyed context.
#include "backends/cuda/api/api_failure.h"

namespace kiln::cuda::api {
namespace {

const char* declared_name(Status status) {
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

/// The name or description of a status from the driver; null where the driver has none.
template <class GetText>
const char* driver_text(GetText get_text, Status status) {
  const char* text = nullptr;
  if (get_text == nullptr || get_text(status, &text) != Status::Success) return nullptr;
  return text;
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
  std::string out = text;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
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
  const char* name = driver_text(driver.get_error_name, status);
  const char* text = driver_text(driver.get_error_string, status);
  return (name != nullptr ? name : declared_name(status)) + number_of(status) +
         (text != nullptr ? std::string(": ") + text : "");
}

sdk::Failure failure(const DriverFunctions& driver, Status status, const std::string& action) {
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(driver, status));
  error.native("CUDA", static_cast<std::int64_t>(status));
  return error;
}

std::string text_of(const NvrtcFunctions& nvrtc, NvrtcStatus status) {
  const char* name = nvrtc.get_error_string == nullptr ? nullptr : nvrtc.get_error_string(status);
  return (name != nullptr ? name : "unknown NVRTC error") + number_of(status);
}

sdk::Failure failure(const NvrtcFunctions& nvrtc, NvrtcStatus status, const std::string& action) {
  const bool no_memory = status == NvrtcStatus::OutOfMemory;
  sdk::Failure error(no_memory ? KILN_CODE_RESOURCE_EXHAUSTED : KILN_CODE_INTERNAL,
                     "cannot " + action + ": " + text_of(nvrtc, status));
  error.native("NVRTC", static_cast<std::int64_t>(status));
  return error;
}

std::string text_of(const CublasLtFunctions& cublaslt, CublasStatus status) {
  const char* name =
      cublaslt.get_status_name == nullptr ? nullptr : cublaslt.get_status_name(status);
  return (name != nullptr ? name : "unknown cuBLASLt error") + number_of(status);
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
  const char* name = cudnn.get_error_string == nullptr ? nullptr : cudnn.get_error_string(status);
  return (name != nullptr ? name : "unknown cuDNN error") + number_of(status);
}

sdk::Failure failure(const CudnnFunctions& cudnn, CudnnStatus status, const std::string& action) {
  const std::string reason = last_error(cudnn);
  sdk::Failure error(code_of(status), "cannot " + action + ": " + text_of(cudnn, status) +
                                          (reason.empty() ? "" : ": " + reason));
  error.native("cuDNN", static_cast<std::int64_t>(status));
  return error;
}

}  // namespace kiln::cuda::api
