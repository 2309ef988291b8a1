// Checks numbers that NVIDIA's libraries report before they become sizes, loop bounds or indices.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/cuda/api/driver_types.h"
#include "core/types/text.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace kiln::cuda::api {

/// Far above all sizes of devices; sums of a few such numbers do not overflow.
inline constexpr std::int64_t kMaxReportedBytes = std::int64_t{1} << 56;

/// A number and its origin, for the error.
struct ReportedNumber {
  const char* library;   // "the NVIDIA driver"
  const char* function;  // "cuDeviceGetCount"
  const char* quantity;  // "the number of devices"
};

/// "the NVIDIA driver reports -1 as the number of devices (cuDeviceGetCount), which is not from 0
/// to 4096", with code INTERNAL.
sdk::Failure wrong_number(const std::string& value, const ReportedNumber& of, std::int64_t min,
                          std::int64_t max);

/// Returns `value`. Throws wrong_number() unless it is from `min` to `max`.
template <std::integral Value>
Value checked_number(Value value, const ReportedNumber& of, std::int64_t min, std::int64_t max) {
  if (std::cmp_less(value, min) || std::cmp_greater(value, max)) {
    throw wrong_number(text(value), of, min, max);
  }
  return value;
}

/// checked_number() of a number of bytes from `min` to `max`.
template <std::integral Value>
std::int64_t checked_bytes(Value value, const ReportedNumber& of, std::int64_t min = 0,
                           std::int64_t max = kMaxReportedBytes) {
  return static_cast<std::int64_t>(checked_number(value, of, min, max));
}

/// Returns the value of the device's attribute, which cuDeviceGetAttribute has reported. Throws
/// wrong_number() unless it is from `min` to `max`.
int checked_attribute(int value, DeviceAttribute attribute, int min, int max);

/// Whether memory of so many bytes can begin at the address: neither null nor beyond the end of the
/// addresses, and aligned to 256 bytes, as all memory of the driver is.
bool is_valid_address(DeviceAddress address, std::int64_t bytes);

/// "the NVIDIA driver reports the address 0x7 for 512 bytes (cuMemAddressReserve), which is null,
/// not a multiple of 256 or too large", with code INTERNAL.
sdk::Failure wrong_address(DeviceAddress address, std::int64_t bytes, const char* function);

/// "2.28.9" for 22809.
std::string text_of_version(std::size_t version);

/// A copy of a text that a library owns, at most 4096 bytes of it and without control characters;
/// empty for null.
std::string reported_text(const char* text);

}  // namespace kiln::cuda::api
