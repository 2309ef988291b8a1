// text("x has ", 3, " dims"): concatenation for messages. g++ 12 has no <format>.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace kiln {

/// A stream for a text: independent of the global locale. It throws where memory ends; by default
/// a stream cuts its text off there.
class TextStream : public std::ostringstream {
 public:
  TextStream() {
    imbue(std::locale::classic());
    exceptions(std::ios::badbit);
  }
};

/// Everything that has an operator<<, joined.
template <class... Parts>
std::string text(const Parts&... parts) {
  TextStream out;
  (out << ... << parts);
  return std::move(out).str();
}

/// The items joined by `separator`, each through operator<<.
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
