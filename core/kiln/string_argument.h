// StringArgument: the type of string parameters. A std::string could be made of a null pointer, as
// in `.padding = 0`, or of two pointers, as in `.padding = {"same", "valid"}`.
#pragma once

#include <kiln/error.h>
#include <kiln/where.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace kiln {

/// A std::string, made of one string only.
class StringArgument : public std::string {
 public:
  StringArgument() = default;
  /// ValueError for a null pointer.
  StringArgument(const char* text, Where where = Where::here())  // NOLINT: implicit on purpose
      : std::string(text ? text : throw ValueError("", "", "a string is a null pointer", where)) {}
  /// A null pointer is no string: name_scope(0).
  StringArgument(std::nullptr_t) = delete;  // NOLINT
  template <class Text, std::enable_if_t<std::is_convertible_v<Text, std::string> &&
                                             !std::is_pointer_v<std::decay_t<Text>>,
                                         int> = 0>
  StringArgument(Text&& text) : std::string(std::forward<Text>(text)) {}  // NOLINT
};

}  // namespace kiln
