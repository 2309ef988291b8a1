// Concatenates values into a string: text("x has ", 3, " dims"). g++ 12 has no <format>.
#pragma once

#include <charconv>
#include <concepts>
#include <iterator>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

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

template <class T, class... Others>
concept OneOf = (std::same_as<T, Others> || ...);

/// A type that a stream writes as a single character.
template <class T>
concept PlainCharacter = OneOf<T, char, signed char, unsigned char>;

/// An integer that a stream writes in decimal: bool as 0 or 1.
template <class T>
concept PlainInteger = OneOf<T, bool, short, int, long, long long, unsigned short, unsigned,
                             unsigned long, unsigned long long>;

template <class T>
concept PlainString = OneOf<std::decay_t<T>, std::string, std::string_view, const char*, char*>;

/// A type that is appended without constructing a stream.
template <class T>
concept PlainText = PlainCharacter<T> || PlainInteger<T> || PlainString<T>;

/// Appends the text that operator<< of a stream in the classic locale writes. REQUIRES: no null
/// pointer to chars.
template <PlainText Part>
void append_plain(std::string& to, const Part& part) {
  if constexpr (PlainCharacter<Part>) {
    to.push_back(static_cast<char>(part));
  } else if constexpr (PlainInteger<Part>) {
    char digits[24];  // a sign and 20 digits at most
    to.append(digits, std::to_chars(digits, digits + sizeof digits, +part).ptr);
  } else {
    to.append(std::string_view(part));
  }
}

/// Concatenates the parts, each as operator<< writes it. REQUIRES: no null pointer to chars.
template <class... Parts>
std::string text(const Parts&... parts) {
  if constexpr ((PlainText<Parts> && ...)) {
    std::string out;
    (append_plain(out, parts), ...);
    return out;
  } else {
    TextStream out;
    (out << ... << parts);
    return std::move(out).str();
  }
}

/// Joins the items with `separator`, each as operator<< writes it. REQUIRES: no null pointer to
/// chars.
template <class Range>
std::string join_text(const Range& items, const char* separator = ", ") {
  const char* before = "";
  if constexpr (PlainText<std::remove_cvref_t<decltype(*std::begin(items))>>) {
    std::string out;
    for (const auto& item : items) {
      out.append(before);
      append_plain(out, item);
      before = separator;
    }
    return out;
  } else {
    TextStream out;
    for (const auto& item : items) {
      out << before << item;
      before = separator;
    }
    return std::move(out).str();
  }
}

}  // namespace kiln
