// The words of the text form, with the place of each for errors. Spaces, line ends and comments
// (";" to the end of the line) separate words.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <string_view>

namespace kiln::module {

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  /// Throws IoError "file:line:column: fact", of the present position or of another.
  [[noreturn]] void fail(const std::string& fact) const { fail_at(at_, fact); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& fact) const;
  /// "expected <what>, found <the next word>".
  [[noreturn]] void fail_expected(const std::string& what);

  std::size_t position() const { return at_; }
  void seek(std::size_t position) { at_ = position; }

  void skip_space();
  bool at_end();
  /// The next character, after space; 0 at the end.
  char peek();
  /// The next character without skipping; 0 at the end.
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c);
  void expect(char c);
  /// As take, without skipping space.
  bool take_here(char c);

  /// Letters, digits and _, beginning with a letter; empty when the next is no word.
  std::string_view word();
  /// The word without taking it.
  std::string_view peek_word();
  void expect_word(std::string_view word);
  /// Characters of symbols, without skipping space; may be empty.
  std::string_view symbol_here();
  /// Up to space, comma, bracket or comment.
  std::string_view token();
  std::int64_t integer(const char* what);
  std::uint64_t number(const char* what);
  bool has_number_here() const { return here() >= '0' && here() <= '9'; }
  std::int64_t integer_here(const char* what);
  std::string quoted();

  /// The source line in the comment that ends this line ("; dot train.cpp:88"); unknown without.
  ir::Origin trailing_origin();

 private:
  template <class Number>
  Number number_here(const char* what);
  bool origin_word(std::string& word);
  bool origin_comment(ir::Origin& origin);

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
};

}  // namespace kiln::module
