// Limits texts, since nothing tells whether a library ends them by a zero.
#include "backends/cuda/api/reported.h"

#include "core/types/escaped_text.h"

#include <cstring>

namespace kiln::cuda::api {
namespace {

constexpr DeviceAddress kAlignment = 256;
constexpr std::size_t kMaxTextBytes = 4096;

std::string hexadecimal(DeviceAddress address) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof(digits), address, 16).ptr;
  return "0x" + std::string(digits, end);
}

}  // namespace

sdk::Failure wrong_number(const std::string& value, const ReportedNumber& of, std::int64_t min,
                          std::int64_t max) {
  return {KILN_CODE_INTERNAL, text(of.library, " reports ", value, " as ", of.quantity, " (",
                                   of.function, "), which is not from ", min, " to ", max)};
}

int checked_attribute(int value, DeviceAttribute attribute, int min, int max) {
  return checked_number(value, {"the NVIDIA driver", "cuDeviceGetAttribute", name_of(attribute)},
                        min, max);
}

bool is_valid_address(DeviceAddress address, std::int64_t bytes) {
  const auto size = static_cast<DeviceAddress>(bytes);
  return address != 0 && address % kAlignment == 0 && size <= ~DeviceAddress{0} - address;
}

sdk::Failure wrong_address(DeviceAddress address, std::int64_t bytes, const char* function) {
  return {KILN_CODE_INTERNAL,
          text("the NVIDIA driver reports the address ", hexadecimal(address), " for ", bytes,
               " bytes (", function, "), which is null, not a multiple of 256 or too large")};
}

std::string text_of_version(std::size_t version) {
  return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::string reported_text(const char* text) {
  if (text == nullptr) return "";
  return escaped_text({text, ::strnlen(text, kMaxTextBytes)});
}

}  // namespace kiln::cuda::api
