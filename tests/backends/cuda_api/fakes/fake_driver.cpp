// A CUDA driver without a device behind it: every function succeeds and does nothing, except for
// the one failure that the build gives it (tests/backends/cuda_api/CMakeLists.txt).
#include "backends/cuda/api/driver_api.h"

#include <cstring>
#include <string>
#include <string_view>

#ifndef FAKE_VERSION
#define FAKE_VERSION 12040
#endif
#ifndef FAKE_VERSION_STATUS
#define FAKE_VERSION_STATUS 0
#endif
#ifndef FAKE_INIT_STATUS
#define FAKE_INIT_STATUS 0
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif
#ifndef FAKE_CAPABILITY
#define FAKE_CAPABILITY 90
#endif
#ifndef FAKE_LACKS  // an attribute of the device
#define FAKE_LACKS -1
#endif
#ifndef FAKE_PROC_ADDRESS
#define FAKE_PROC_ADDRESS cuGetProcAddress_v2
#endif
#ifndef FAKE_MISSING  // names with a space after each
#define FAKE_MISSING ""
#endif

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace kiln::cuda::api;

template <class... Arguments>
Status succeed(Arguments...) {
  return Status::Success;
}

Status get_error_name(Status status, const char** text) {
  switch (status) {
#define FAKE_NAME(name, symbol, value) \
  case Status::name: *text = #symbol; return Status::Success;
    KILN_CUDA_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  return Status::InvalidValue;
}

Status get_error_string(Status, const char** text) {
  *text = "text of the driver";
  return Status::Success;
}

bool is_initialized = false;

Status init(unsigned) {
  is_initialized = FAKE_INIT_STATUS == 0;
  return static_cast<Status>(FAKE_INIT_STATUS);
}

Status device_get_count(int* count) {
  if (!is_initialized) return Status::NotInitialized;
  *count = FAKE_DEVICES;
  return Status::Success;
}

Status device_get(DeviceHandle* device, int ordinal) {
  *device = ordinal;
  return Status::Success;
}

Status device_get_name(char* name, int size, DeviceHandle) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
  return Status::Success;
}

Status device_get_attribute(int* value, DeviceAttribute attribute, DeviceHandle) {
  *value = static_cast<int>(attribute) == FAKE_LACKS ? 0 : 1;
  if (attribute == DeviceAttribute::ComputeCapabilityMajor) *value = FAKE_CAPABILITY / 10;
  if (attribute == DeviceAttribute::ComputeCapabilityMinor) *value = FAKE_CAPABILITY % 10;
  return Status::Success;
}

Status driver_get_version(int* version) {
  *version = FAKE_VERSION;
  return static_cast<Status>(FAKE_VERSION_STATUS);
}

struct Row {
  std::string_view name;
  int version;
  void* function;
};

template <class Function>
void* address(Function function) {
  return reinterpret_cast<void*>(function);
}

/// The function of that name with behaviour; else null.
void* special(std::string_view name) {
  if (name == "cuGetErrorName") return address(&get_error_name);
  if (name == "cuGetErrorString") return address(&get_error_string);
  if (name == "cuInit") return address(&init);
  if (name == "cuDriverGetVersion") return address(&driver_get_version);
  if (name == "cuDeviceGetCount") return address(&device_get_count);
  if (name == "cuDeviceGet") return address(&device_get);
  if (name == "cuDeviceGetName") return address(&device_get_name);
  if (name == "cuDeviceGetAttribute") return address(&device_get_attribute);
  return nullptr;
}

#define FAKE_ROW(member, symbol, version, presence, ...) \
  Row{#symbol, version, address(static_cast<decltype(DriverFunctions::member)>(&succeed))},
const Row kRows[] = {KILN_CUDA_DRIVER_FUNCTIONS(FAKE_ROW)};
#undef FAKE_ROW

bool is_missing(std::string_view name) {
  return std::string_view(FAKE_MISSING).find(std::string(name) + " ") != std::string_view::npos;
}

}  // namespace

#ifndef FAKE_NO_VERSION
FAKE_EXPORT Status cuDriverGetVersion(int* version) { return driver_get_version(version); }
#endif

FAKE_EXPORT Status FAKE_PROC_ADDRESS(const char* name, void** function, int version,
                                     std::uint64_t flags, ProcAddressResult* result) {
  *function = nullptr;
  *result = ProcAddressResult::SymbolNotFound;
  if (flags != 0) return Status::InvalidValue;
  for (const Row& row : kRows) {
    if (row.name != name || row.version != version || is_missing(name)) continue;
    if (version > FAKE_VERSION) {
      *result = ProcAddressResult::VersionNotSufficient;
      return Status::Success;
    }
    *result = ProcAddressResult::Found;
    void* const known = special(name);
    *function = known != nullptr ? known : row.function;
    return Status::Success;
  }
  return Status::NotFound;
}
