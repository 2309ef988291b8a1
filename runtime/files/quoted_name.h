// Quotes names from files for messages.
#pragma once

#include <string>
#include <string_view>

namespace kiln::runtime {

/// Quotes a name for a message: control characters become '?', truncated after 80 bytes.
inline std::string quoted_name(std::string_view name) {
  constexpr std::size_t kMax = 80;
  std::string result = "'";
  std::size_t shown = name.size();
  if (shown > kMax) {
    shown = kMax;
    while (shown > 0 && (static_cast<unsigned char>(name[shown]) & 0xc0) == 0x80) --shown;
  }
  for (const char c : name.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return result + (shown < name.size() ? "...'" : "'");
}

}  // namespace kiln::runtime
