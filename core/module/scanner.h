// Scanner: the tokens of the text form, with their positions for errors. Spaces, line ends and
// comments (";" to the end of the line) separate tokens.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <string_view>
#include <vector>

namespace kiln::module {

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Throws IoError "file:line:column: message" for the current position or for another.
  [[noreturn]] void fail(const std::string& message) const { fail_at(at_, message); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;
  /// "expected <what>, found <the next word>".
  [[noreturn]] void fail_expected(const std::string& what);

  std::size_t position() const { return at_; }
  void seek(std::size_t position) { at_ = position; }

  void skip_space();
  bool at_end();
  /// Skips space and returns the next character without taking it; 0 at the end.
  char peek();
  /// The next character without skipping; 0 at the end.
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// Takes the next character after space if it is `c`.
  bool take(char c);
  void expect(char c);
  /// The same without skipping space.
  bool take_here(char c);

  /// Takes a word: letters, digits and _, not starting with a digit. Empty if there is none.
  std::string_view word();
  /// The next word, without taking it.
  std::string_view peek_word();
  void expect_word(std::string_view word);
  /// Takes the name of a symbol without skipping space; may be empty.
  std::string_view symbol_here();
  /// Takes everything up to a space, comma, bracket, "=", quote or comment.
  std::string_view token();
  std::int64_t integer(const char* what);
  std::uint64_t number(const char* what);
  bool has_number_here() const { return here() >= '0' && here() <= '9'; }
  std::int64_t integer_here(const char* what);
  std::string quoted();

  /// Takes the definition of a name scope, after its first word, such as
  /// `scope #1 attention model.cpp:88 in #0`.
  void scope_line();
  /// Takes the origin in the comment that ends this line; empty without one:
  /// `; dot train.cpp:88`, or in a name scope `; dot train.cpp:88 in #1 encoder/attention`.
  ir::Origin trailing_origin();

 private:
  template <class Number>
  Number number_here(const char* what);
  bool origin_word(std::string& word);
  bool where_here(Where& where);
  bool origin_comment(ir::Origin& origin);
  /// Takes ` in #1` if it is there.
  bool scope_reference(const ir::Scope*& scope);

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::vector<const ir::Scope*> scopes_;  // by number
};

}  // namespace kiln::module
