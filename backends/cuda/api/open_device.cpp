// Stages 5 and 6: initializes the driver and identifies one device.
#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/api_failure.h"
#include "backends/cuda/api/open_driver.h"
#include "backends/cuda/api/reported.h"
#include "core/types/escaped_text.h"

#include <array>
#include <cstdlib>

namespace kiln::cuda::api {
namespace {

constexpr int kMaxDevices = 4096;

std::string visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? "CUDA_VISIBLE_DEVICES is not set"
                          : "CUDA_VISIBLE_DEVICES is '" + std::string(value) + "'";
}

sdk::Failure no_device() {
  return sdk::Failure(KILN_CODE_UNAVAILABLE,
                      "the NVIDIA driver shows no device; " + visible_devices());
}

/// Throws UNAVAILABLE even for a sticky error: no data is on the device yet.
void require(const Driver& driver, Status status, const std::string& action) {
  if (status == Status::Success) return;
  const std::string text = "cannot " + action + ": " + text_of(driver, status);
  throw sdk::Failure(KILN_CODE_UNAVAILABLE, text + "; " + visible_devices())
      .native("CUDA", static_cast<std::int64_t>(status));
}

int initialize(const Driver& driver, Messages& messages) {
  const Status started = driver.init(0);
  if (started == Status::NoDevice) {
    throw no_device().native("CUDA", static_cast<std::int64_t>(started));
  }
  require(driver, started, "initialize the NVIDIA driver " + driver.path);
  int count = 0;
  require(driver, driver.device_get_count(&count), "count devices");
  checked_number(count, {"the NVIDIA driver", "cuDeviceGetCount", "the number of devices"}, 0,
                 kMaxDevices);
  if (count == 0) throw no_device();
  messages.push_back("devices: " + std::to_string(count) + ", " + visible_devices());
  return count;
}

int attribute(const Driver& driver, DeviceAttribute which, DeviceHandle device) {
  int value = 0;
  require(driver, driver.device_get_attribute(&value, which, device), "read a device attribute");
  return value;
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

/// Requires memory pools and virtual memory management. Devices of capability 8.0 have both, but
/// some virtual machines hide them.
void require_memory(const Driver& driver, const DeviceIdentity& device, const std::string& title) {
  const struct {
    DeviceAttribute attribute;
    const char* name;
  } rows[] = {{DeviceAttribute::MemoryPoolsSupported, "stream-ordered memory pools"},
              {DeviceAttribute::VirtualMemorySupported, "virtual memory management"}};
  for (const auto& row : rows) {
    if (attribute(driver, row.attribute, device.handle) != 0) continue;
    throw sdk::Failure(KILN_CODE_UNAVAILABLE, title + " has no " + row.name + ", which Kiln needs");
  }
}

DeviceIdentity identify(const Driver& driver, int ordinal) {
  DeviceIdentity device;
  device.ordinal = ordinal;
  require(driver, driver.device_get(&device.handle, ordinal), "get a device");
  std::array<char, 256> name{};
  require(driver,
          driver.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device.handle),
          "read a device name");
  device.name = escaped_text(name.data());
  const auto number = [&](DeviceAttribute which, int max) {
    return checked_attribute(attribute(driver, which, device.handle), which, 0, max);
  };
  device.compute_capability = 10 * number(DeviceAttribute::ComputeCapabilityMajor, 999) +
                              number(DeviceAttribute::ComputeCapabilityMinor, 9);
  return device;
}

/// "1 device, 0 (NVIDIA H100)".
std::string devices_text(const Driver& driver, int count) {
  std::string list = std::to_string(count) + (count == 1 ? " device" : " devices");
  for (int i = 0; i < count; ++i) {
    list += ", " + std::to_string(i) + " (" + identify(driver, i).name + ")";
  }
  return list;
}

}  // namespace

bool is_initialized(const Driver& driver) {
  int count = 0;
  return driver.device_get_count(&count) != Status::NotInitialized;
}

DeviceIdentity open_device(const Driver& driver, int ordinal, const DriverSettings& settings,
                           Messages& messages) {
  const int count = initialize(driver, messages);
  if (ordinal < 0 || ordinal >= count) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                       "device " + std::to_string(ordinal) + " does not exist: the driver shows " +
                           devices_text(driver, count) + "; " + visible_devices());
  }
  DeviceIdentity device = identify(driver, ordinal);
  const std::string found = capability_text(device.compute_capability);
  const std::string wanted = capability_text(settings.min_compute_capability);
  const std::string title = "device " + std::to_string(ordinal) + " (" + device.name + ")";
  if (device.compute_capability < settings.min_compute_capability) {
    throw sdk::Failure(KILN_CODE_OUT_OF_RANGE, title + " has compute capability " + found +
                                                   ", but Kiln needs " + wanted + " or newer");
  }
  require_memory(driver, device, title);
  messages.push_back(title + ": compute capability " + found + " (at least " + wanted + ")");
  return device;
}

}  // namespace kiln::cuda::api
