// Writes protobuf messages byte by byte, for ONNX files that no library would write.
#pragma once

#include <cstdint>
#include <string>

namespace kiln::testing {

inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

/// Field `number` that holds an integer.
inline std::string field(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) * 8) + varint(static_cast<std::uint64_t>(value));
}

/// Field `number` that holds bytes: a text, or a message.
inline std::string field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) * 8 + 2) + varint(bytes.size()) + bytes;
}

}  // namespace kiln::testing
