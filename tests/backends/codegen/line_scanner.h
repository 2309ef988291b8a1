// Reads one line of a text from left to right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::test {

/// A line and its number in the text, from 1 on.
struct NumberedLine {
  int number = 1;
  std::string_view text;
};

class LineScanner {
 public:
  explicit LineScanner(const NumberedLine& line) : line_(line), rest_(line.text) {}

  /// Skips the words if they are next; returns whether they are.
  bool take(std::string_view words);
  /// Throws std::runtime_error, here and below, where something else is next.
  void expect(std::string_view words);
  /// A decimal number, perhaps negative.
  std::int64_t integer();
  /// A decimal number from 0 on below `limit`.
  int index(std::size_t limit);
  /// Letters, digits and underscores, at least one.
  std::string_view name();
  /// The rest of the line.
  std::string_view rest();
  void expect_end() const;

  bool at_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  std::string_view left() const { return rest_; }
  /// Throws std::runtime_error with the number and the text of the line.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  NumberedLine line_;
  std::string_view rest_;
};

}  // namespace kiln::test
