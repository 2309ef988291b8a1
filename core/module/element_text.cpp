// Converts by std::to_chars and std::from_chars, which are exact and ignore the locale.
#include "core/module/element_text.h"

#include "core/types/half.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kiln::module {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

template <class Number>
bool read_number(std::string_view token, std::byte* to) {
  Number value{};
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc{} || end != token.data() + token.size()) return false;
  std::memcpy(to, &value, sizeof(value));
  return true;
}

/// The bits that "nan" without a suffix denotes: the default quiet NaN.
std::uint64_t default_nan(DType dtype) {
  switch (dtype_bytes(dtype)) {
    case 2: return dtype == DType::Float16 ? 0x7e00u : 0x7fc0u;
    case 4: return 0x7fc00000u;
    default: return 0x7ff8000000000000u;
  }
}

template <class Bits>
double half_to_double(DType dtype, Bits bits) {
  const auto half = static_cast<std::uint16_t>(bits);
  return dtype == DType::Float16 ? float16_to_float(half) : bfloat16_to_float(half);
}

template <class Bits>
bool is_nan(DType dtype, Bits bits) {
  if constexpr (sizeof(Bits) == 2) return std::isnan(half_to_double(dtype, bits));
  if constexpr (sizeof(Bits) == 4) return std::isnan(std::bit_cast<float>(bits));
  if constexpr (sizeof(Bits) == 8) return std::isnan(std::bit_cast<double>(bits));
}

template <class Bits>
void append_float(std::string& out, DType dtype, const std::byte* element) {
  const Bits bits = load<Bits>(element);
  if (is_nan(dtype, bits)) {
    out += "nan";
    if (bits == default_nan(dtype)) return;
    std::array<char, 20> buffer;
    out += ":0x";
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), bits, 16).ptr;
    out.append(buffer.data(), end);
    return;
  }
  if constexpr (sizeof(Bits) == 2) {
    append_number(out, static_cast<float>(half_to_double(dtype, bits)));
  } else if constexpr (sizeof(Bits) == 4) {
    append_number(out, std::bit_cast<float>(bits));
  } else {
    append_number(out, std::bit_cast<double>(bits));
  }
}

template <class Bits>
bool read_nan(std::string_view token, DType dtype, std::byte* element) {
  auto bits = static_cast<Bits>(default_nan(dtype));
  token.remove_prefix(3);
  if (!token.empty()) {
    if (token.substr(0, 3) != ":0x") return false;
    token.remove_prefix(3);
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), bits, 16);
    if (error != std::errc{} || end != token.data() + token.size()) return false;
    if (!is_nan(dtype, bits)) return false;
  }
  std::memcpy(element, &bits, sizeof(bits));
  return true;
}

template <class Bits>
bool read_float(std::string_view token, DType dtype, std::byte* element) {
  if (token.substr(0, 3) == "nan") return read_nan<Bits>(token, dtype, element);
  const std::string_view digits = token.substr(token[0] == '-' ? 1 : 0);
  const bool is_number = !digits.empty() && ((digits[0] >= '0' && digits[0] <= '9') ||
                                             digits[0] == '.' || digits == "inf");
  if (!is_number) return false;
  if constexpr (sizeof(Bits) == 4) return read_number<float>(token, element);
  if constexpr (sizeof(Bits) == 8) return read_number<double>(token, element);
  double value = 0;
  if (!read_number<double>(token, reinterpret_cast<std::byte*>(&value))) return false;
  const std::uint16_t half =
      dtype == DType::Float16 ? float16_of_double(value) : bfloat16_of_double(value);
  std::memcpy(element, &half, sizeof(half));
  return true;
}

}  // namespace

void append_element(std::string& out, DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::Bool: {
      // Bytes other than 0 and 1 are invalid bools, but must round-trip.
      const auto value = load<std::uint8_t>(element);
      if (value > 1) return append_number(out, static_cast<int>(value));
      out += value != 0 ? "true" : "false";
      return;
    }
    case DType::Int8: return append_number(out, static_cast<int>(load<std::int8_t>(element)));
    case DType::Int16: return append_number(out, load<std::int16_t>(element));
    case DType::Int32: return append_number(out, load<std::int32_t>(element));
    case DType::Int64: return append_number(out, load<std::int64_t>(element));
    case DType::UInt8: return append_number(out, static_cast<int>(load<std::uint8_t>(element)));
    case DType::UInt16: return append_number(out, load<std::uint16_t>(element));
    case DType::UInt32: return append_number(out, load<std::uint32_t>(element));
    case DType::UInt64: return append_number(out, load<std::uint64_t>(element));
    case DType::Float16:
    case DType::BFloat16: return append_float<std::uint16_t>(out, dtype, element);
    case DType::Float32: return append_float<std::uint32_t>(out, dtype, element);
    case DType::Float64: return append_float<std::uint64_t>(out, dtype, element);
  }
}

bool read_element(std::string_view token, DType dtype, std::byte* element) {
  if (token.empty()) return false;
  switch (dtype) {
    case DType::Bool:
      if (token != "true" && token != "false") return read_number<std::uint8_t>(token, element);
      *element = static_cast<std::byte>(token == "true" ? 1 : 0);
      return true;
    case DType::Int8: return read_number<std::int8_t>(token, element);
    case DType::Int16: return read_number<std::int16_t>(token, element);
    case DType::Int32: return read_number<std::int32_t>(token, element);
    case DType::Int64: return read_number<std::int64_t>(token, element);
    case DType::UInt8: return read_number<std::uint8_t>(token, element);
    case DType::UInt16: return read_number<std::uint16_t>(token, element);
    case DType::UInt32: return read_number<std::uint32_t>(token, element);
    case DType::UInt64: return read_number<std::uint64_t>(token, element);
    case DType::Float16:
    case DType::BFloat16: return read_float<std::uint16_t>(token, dtype, element);
    case DType::Float32: return read_float<std::uint32_t>(token, dtype, element);
    case DType::Float64: return read_float<std::uint64_t>(token, dtype, element);
  }
  return false;
}

void append_hex(std::string& out, const std::byte* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[static_cast<unsigned>(bytes[i]) >> 4];
    out += kDigits[static_cast<unsigned>(bytes[i]) & 15];
  }
}

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<std::byte>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned>(byte) < 0x20 || static_cast<unsigned>(byte) == 0x7f) {
      out += "\\x";
      append_hex(out, &byte, 1);
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace kiln::module
