// Characters of UTF-8 text, for tables.
#pragma once

#include <cstddef>
#include <string_view>

namespace kiln {

/// The number of characters: bytes that do not continue a sequence.
inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

/// The first `count` characters, or all if there are fewer.
inline std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && count-- == 0) break;
  }
  return text.substr(0, end);
}

}  // namespace kiln
