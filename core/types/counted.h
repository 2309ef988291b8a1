// Counts in messages: "1 input", "2 inputs".
#pragma once

#include <cstdint>
#include <string>

namespace kiln {

inline std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace kiln
