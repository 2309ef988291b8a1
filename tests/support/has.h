// Whether a text contains another, for checks of outputs and messages.
#pragma once

#include <string>
#include <string_view>

namespace kiln::testing {

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace kiln::testing
