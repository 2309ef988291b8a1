// A description is a byte order, a kind and a number of bytes.
#include "runtime/weights/numpy_dtype.h"

#include <algorithm>
#include <iterator>

namespace kiln::runtime {
namespace {

/// Indexed by DType.
constexpr std::string_view kDescriptions[kDTypeCount] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                                         "u4", "u8", "f2", "V2", "f4", "f8"};

}  // namespace

std::optional<NumpyDType> numpy_dtype(std::string_view description) {
  const bool has_order = !description.empty() &&
                         std::string_view("<>=|").find(description[0]) != std::string_view::npos;
  const std::string_view kind = description.substr(has_order ? 1 : 0);
  if (!has_order && !description.empty()) {
    // NumPy reads names, too, which other programs write.
    const auto named = dtype_of_name(description);
    if (named && *named != DType::BFloat16) return NumpyDType{*named, false};
  }
  const auto* const found = std::find(std::begin(kDescriptions), std::end(kDescriptions), kind);
  const bool is_raw = kind == "V2" && (!has_order || description[0] == '|');
  if (found == std::end(kDescriptions) || is_raw) return std::nullopt;
  const auto dtype = static_cast<DType>(found - std::begin(kDescriptions));
  return NumpyDType{dtype, description[0] == '>' && dtype_bytes(dtype) > 1};
}

std::string numpy_description(DType dtype) {
  const char order = dtype_bytes(dtype) == 1 ? '|' : '<';
  return order + std::string(kDescriptions[static_cast<int>(dtype)]);
}

void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t at = 0; at < bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

}  // namespace kiln::runtime
