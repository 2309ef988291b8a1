// text("x has ", 3, " dims"): concatenation for messages. g++ 12 has no <format>.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace kiln {

/// Everything that has an operator<<, joined. Independent of the global locale.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return std::move(out).str();
}

/// The items joined by `separator`, each through operator<<.
template <class Range>
std::string join_text(const Range& items, const char* separator = ", ") {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  const char* before = "";
  for (const auto& item : items) {
    out << before << item;
    before = separator;
  }
  return std::move(out).str();
}

}  // namespace kiln
