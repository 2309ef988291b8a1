// Element types of tensors. Their names ("float32") are those that the K functions take.
#pragma once

#include <kiln/export.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace kiln {

/// The order is part of the module format and of the plugin ABI: append only.
enum class DType : std::uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
};
inline constexpr int kDTypeCount = 13;

enum class DTypeKind : std::uint8_t { Bool, Signed, Unsigned, Float };

struct DTypeInfo {
  std::string_view name;
  std::size_t bytes;  ///< of one element
  DTypeKind kind;
};

/// Indexed by DType.
inline constexpr DTypeInfo kDTypeInfo[kDTypeCount] = {
    {"bool", 1, DTypeKind::Bool},       {"int8", 1, DTypeKind::Signed},
    {"int16", 2, DTypeKind::Signed},    {"int32", 4, DTypeKind::Signed},
    {"int64", 8, DTypeKind::Signed},    {"uint8", 1, DTypeKind::Unsigned},
    {"uint16", 2, DTypeKind::Unsigned}, {"uint32", 4, DTypeKind::Unsigned},
    {"uint64", 8, DTypeKind::Unsigned}, {"float16", 2, DTypeKind::Float},
    {"bfloat16", 2, DTypeKind::Float},  {"float32", 4, DTypeKind::Float},
    {"float64", 8, DTypeKind::Float},
};

/// Whether `dtype` is one of the enumerators. False for a cast of any other number.
constexpr bool is_dtype(DType dtype) { return static_cast<int>(dtype) < kDTypeCount; }

/// Name, size and kind. REQUIRES: is_dtype(dtype), here and below unless stated otherwise.
constexpr const DTypeInfo& info(DType dtype) { return kDTypeInfo[static_cast<int>(dtype)]; }
/// The name, such as "float32"; "invalid" unless is_dtype(dtype).
constexpr std::string_view dtype_name(DType dtype) {
  return is_dtype(dtype) ? info(dtype).name : std::string_view("invalid");
}
/// Bytes of one element.
constexpr std::size_t dtype_bytes(DType dtype) { return info(dtype).bytes; }
/// Whether it is a floating-point type, float16 and bfloat16 included.
constexpr bool is_float(DType dtype) { return info(dtype).kind == DTypeKind::Float; }
/// Whether it is a signed or unsigned integer type; bool is neither.
constexpr bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::Signed || info(dtype).kind == DTypeKind::Unsigned;
}

/// The dtype with that name; nullopt for an unknown name.
constexpr std::optional<DType> dtype_of_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypeInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Prints the name, "DType(200)" unless is_dtype(dtype).
KILN_API std::ostream& operator<<(std::ostream& out, DType dtype);

}  // namespace kiln
