// Types of parameters to which no other kind of number converts: whole numbers, seeds, flags. A
// parameter of type std::int64_t would accept 1.5 as 1 and 'a' as 97.
#pragma once

#include <kiln/export.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace kiln {

/// Whether T is a type of characters, which are no numbers.
template <class T>
inline constexpr bool is_character_v =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
/// Whether T is an unscoped enumeration or an integer type other than bool and types of characters.
template <class T>
inline constexpr bool is_whole_number_v =
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character_v<T>) ||
    (std::is_enum_v<T> && std::is_convertible_v<T, std::int64_t>);
/// Whether T is an arithmetic type whose values are not whole numbers: floating-point, bool or of
/// characters.
template <class T>
inline constexpr bool is_other_number_v = std::is_arithmetic_v<T> && !is_whole_number_v<T>;

/// Returns an integer as int64, the largest one for larger integers.
template <class Integer>
constexpr std::int64_t saturated(Integer value) {
  if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) == sizeof(std::int64_t)) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    return value > static_cast<Integer>(kMax) ? kMax : static_cast<std::int64_t>(value);
  } else {
    return static_cast<std::int64_t>(value);
  }
}

/// A count, a factor or an axis. A larger integer than the largest int64 counts as that.
class WholeNumber {
 public:
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  constexpr WholeNumber(Integer value) : value_(saturated(value)) {}  // NOLINT: implicit on purpose
  /// A fraction, a bool or a character is no whole number.
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  WholeNumber(NoWholeNumber) = delete;  // NOLINT
  constexpr operator std::int64_t() const { return value_; }  // NOLINT

 private:
  std::int64_t value_;
};

/// A seed of random draws: the 64 bits of an integer.
class Seed {
 public:
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  constexpr Seed(Integer value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  /// A fraction, a bool or a character is no seed.
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  Seed(NoWholeNumber) = delete;  // NOLINT
  constexpr operator std::int64_t() const { return value_; }  // NOLINT

 private:
  std::int64_t value_;
};

/// Yes or no. Numbers do not convert: in sum(x, {0, 1}), the 1 would be `keepdims`, not an axis.
class Flag {
 public:
  constexpr Flag(bool value) : value_(value) {}  // NOLINT: implicit on purpose
  template <class NoBool, std::enable_if_t<(std::is_arithmetic_v<NoBool> ||
                                            std::is_enum_v<NoBool> || std::is_pointer_v<NoBool>) &&
                                               !std::is_same_v<NoBool, bool>,
                                           int> = 0>
  Flag(NoBool) = delete;  // NOLINT
  constexpr operator bool() const { return value_; }  // NOLINT

 private:
  bool value_;
};

}  // namespace kiln
