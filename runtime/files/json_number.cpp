// Converts with std::from_chars, and classifies its out-of-range results as overflow or underflow.
#include "runtime/files/json_number.h"

#include <algorithm>
#include <charconv>

namespace kiln::runtime {
namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view token) {
  Number number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return number;
}

/// Whether a number outside the range of double overflows rather than underflows: it is 0.d1d2...
/// times a positive power of ten, where d1 is not 0. REQUIRES: a JSON number with such a digit.
bool is_too_large(std::string_view token) {
  const std::size_t e = std::min(token.find_first_of("eE"), token.size());
  const std::string_view mantissa = token.substr(0, e);
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  const std::int64_t power = first < point ? point - first : point + 1 - first;
  if (e == token.size()) return power > 0;
  std::string_view digits = token.substr(e + 1);
  const bool is_negative = digits.front() == '-';
  digits.remove_prefix(std::min(digits.find_first_of("0123456789"), digits.size()));
  // The sign of an exponent beyond 64 bits decides: no mantissa is that long.
  const std::optional<std::int64_t> exponent = parse_all<std::int64_t>(digits);
  if (!exponent) return !is_negative;
  return is_negative ? power > *exponent : power > -*exponent;
}

/// Returns the end of the number that starts there, assuming that it is well formed.
std::size_t number_end(std::string_view text, std::size_t start) {
  return std::min(text.find_first_not_of("+-.0123456789eE", start), text.size());
}

/// Returns where the exponent of a zero begins; npos for any other token.
std::size_t exponent_of_zero(std::string_view token) {
  const std::size_t e = token.find_first_of("eE");
  if (e == token.npos || token.substr(0, e).find_first_not_of("-.0") != token.npos) {
    return token.npos;
  }
  std::string_view digits = token.substr(e + 1);
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) digits.remove_prefix(1);
  const bool is_exponent = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  return is_exponent ? e : token.npos;
}

std::size_t string_end(std::string_view text, std::size_t quote) {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

}  // namespace

std::optional<JsonNumber> json_number(std::string_view token) {
  if (const auto value = parse_all<std::uint64_t>(token)) return *value;
  if (const auto value = parse_all<std::int64_t>(token)) return *value;
  if (const auto value = parse_all<double>(token)) return *value;
  if (is_too_large(token)) return std::nullopt;
  return token.front() == '-' ? -0.0 : 0.0;
}

std::string without_exponents_of_zeros(std::string_view text) {
  std::string changed;
  std::size_t i = 0;
  while ((i = text.find_first_of("\"-0123456789", i)) < text.size()) {
    if (text[i] == '"') {
      i = string_end(text, i);
      continue;
    }
    const std::size_t end = number_end(text, i);
    const std::size_t e = exponent_of_zero(text.substr(i, end - i));
    if (e != text.npos) {
      if (changed.empty()) changed = text;
      std::fill(changed.begin() + static_cast<std::ptrdiff_t>(i + e),
                changed.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    i = end;
  }
  return changed;
}

}  // namespace kiln::runtime
