// Concatenates values into a string: text("x has ", 3, " dims"). g++ 12 has no <format>.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace kiln {

/// A string stream with the classic locale, whatever the global one. Throws std::bad_alloc when
/// memory runs out; a stream by default truncates its text silently.
class TextStream : public std::ostringstream {
 public:
  TextStream() {
    imbue(std::locale::classic());
    exceptions(std::ios::badbit);
  }
};

/// Concatenates the parts, each written by operator<<.
template <class... Parts>
std::string text(const Parts&... parts) {
  TextStream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// Joins the items with `separator`, each written by operator<<.
template <class Range>
std::string join_text(const Range& items, const char* separator = ", ") {
  TextStream out;
  const char* before = "";
  for (const auto& item : items) {
    out << before << item;
    before = separator;
  }
  return std::move(out).str();
}

}  // namespace kiln
