// Where: a line in the user's source, like std::source_location, which clang 14 with libstdc++ 12
// lacks. Used as a defaulted argument or member, so that the compiler fills in the caller's line.
#pragma once

namespace kiln {

/// A source line; `file` is empty and `line` 0 when it is unknown. `file` points to storage that is
/// never freed: a literal, or text interned for the life of the process.
struct Where {
  const char* file = "";
  unsigned line = 0;

  /// The caller's line, when used as a default argument or default member initialiser.
  static constexpr Where here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  /// The same for members of option structs. After `Options o;` the builtins name the header that
  /// declares the struct, which counts as unknown; after `Options o{};` and designated initialisers
  /// they name the user's line. Pass __FILE__ for `header`.
  static constexpr Where outside(const char* header, const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
    const char *a = header, *b = file;
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b ? Where{} : Where{file, line};
  }
  constexpr bool known() const { return line != 0; }
};

}  // namespace kiln
