// Initialization, the one device, and its primary context.
#include "tests/backends/cuda_fakes/driver/device.h"
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <unistd.h>

#include <cstring>

namespace kiln::fake_cuda {
namespace {

Status check_device(DeviceHandle device) {
  return device == 0 ? Status::Success : Status::InvalidDevice;
}

}  // namespace

namespace entry {

Status get_error_name(Status status, const char** text) {
  switch (static_cast<std::uint32_t>(status)) {
#define FAKE_NAME(name, symbol, value) \
  case value: *text = #symbol; return Status::Success;
    KILN_CUDA_STATUS(FAKE_NAME)
    FAKE_CUDA_CAPTURE_STATUS(FAKE_NAME)
#undef FAKE_NAME
  }
  *text = nullptr;
  return Status::InvalidValue;
}

Status get_error_string(Status status, const char** text) {
  const Status known = get_error_name(status, text);
  if (const auto wrong = lie("cuGetErrorString")) {
    static const std::string endless(1 << 20, wrong->front());
    *text = endless.c_str();
    return Status::Success;
  }
  if (known == Status::Success) *text = "an error of the fake driver";
  return known;
}

Status init(unsigned flags) {
  if (flags != 0) return Status::InvalidValue;
  State& all = state();
  if (all.process != 0 && all.process != ::getpid()) return Status::NotInitialized;
  all.process = ::getpid();
  return Status::Success;
}

Status driver_get_version(int* version) {
  if (version == nullptr) return Status::InvalidValue;
  *version = reported("cuDriverGetVersion", kDriverVersion);
  return Status::Success;
}

Status device_get_count(int* count) {
  if (count == nullptr) return Status::InvalidValue;
  if (state().process != ::getpid()) return Status::NotInitialized;
  *count = reported("cuDeviceGetCount", 1);
  return Status::Success;
}

Status device_get(DeviceHandle* device, int ordinal) {
  if (device == nullptr) return Status::InvalidValue;
  if (ordinal != 0) return Status::InvalidDevice;
  *device = 0;
  return Status::Success;
}

Status device_get_name(char* name, int size, DeviceHandle device) {
  if (name == nullptr || size <= 0) return Status::InvalidValue;
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size) - 1);
  name[size - 1] = '\0';
  if (const auto wrong = lie("cuDeviceGetName")) {
    std::memset(name, wrong->front(), static_cast<std::size_t>(size));
  }
  return check_device(device);
}

Status device_get_attribute(int* value, DeviceAttribute attribute, DeviceHandle device) {
  if (value == nullptr) return Status::InvalidValue;
  *value = value_of(attribute);
  if (*value < 0) return Status::InvalidValue;
  *value = reported(name_of(attribute), *value);
  return check_device(device);
}

Status device_get_uuid(DeviceUuid* uuid, DeviceHandle device) {
  if (uuid == nullptr) return Status::InvalidValue;
  std::memcpy(uuid->bytes, "fake CUDA device", sizeof(uuid->bytes));
  return check_device(device);
}

Status device_total_mem(std::size_t* bytes, DeviceHandle device) {
  if (bytes == nullptr) return Status::InvalidValue;
  *bytes = reported("cuDeviceTotalMem", state().memory_limit);
  return check_device(device);
}

Status primary_ctx_retain(ContextHandle* context, DeviceHandle device) {
  if (context == nullptr) return Status::InvalidValue;
  if (device != 0) return Status::InvalidDevice;
  ++state().retained;
  *context = primary_context();
  return Status::Success;
}

Status primary_ctx_release(DeviceHandle device) {
  State& all = state();
  if (device != 0) return Status::InvalidDevice;
  if (all.retained == 0) return Status::InvalidContext;
  if (--all.retained != 0) return Status::Success;
  // The end of a context waits for its work. Its objects stay counted, as leaks.
  const Status status = all.streams.run_all();
  all.pools.release_unused();
  return status;
}

Status ctx_set_current(ContextHandle context) {
  const bool is_known = context == nullptr || context == primary_context();
  if (!is_known) return Status::InvalidContext;
  current_context() = context;
  return Status::Success;
}

Status ctx_get_current(ContextHandle* context) {
  if (context == nullptr) return Status::InvalidValue;
  *context = current_context();
  return Status::Success;
}

}  // namespace entry
}  // namespace kiln::fake_cuda
