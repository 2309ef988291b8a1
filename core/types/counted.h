// "1 input", "2 inputs": numbers of things in messages.
#pragma once

#include <cstdint>
#include <string>

namespace kiln {

inline std::string counted(std::uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace kiln
