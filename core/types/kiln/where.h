// A place in the user's source. Used as a defaulted argument or struct member, so that it is
// filled in at the user's own line. The builtins are used because clang 14 with libstdc++ 12
// lacks std::source_location.
#pragma once

namespace kiln {

/// A source line. `file` is empty and `line` 0 when unknown. `file` points at storage that is
/// never freed (a literal, or text interned for the life of the process).
struct Where {
  const char* file = "";
  unsigned line = 0;

  /// The line of the call, when used as a default argument or default member initializer.
  static constexpr Where here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  /// For members of option structs: `Options o;` makes the header itself the place, and that is
  /// unknown; `Options o{};` and designated initialisers give the user's line. Pass __FILE__.
  static constexpr Where outside(const char* header, const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
    const char *a = header, *b = file;
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b ? Where{} : Where{file, line};
  }
  constexpr bool known() const { return line != 0; }
};

}  // namespace kiln
