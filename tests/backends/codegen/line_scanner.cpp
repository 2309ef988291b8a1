// Each reader removes what it reads from the front of the rest.
#include "tests/backends/codegen/line_scanner.h"

#include "core/types/text.h"

#include <charconv>
#include <limits>
#include <stdexcept>

namespace kiln::test {

bool LineScanner::take(std::string_view words) {
  if (!rest_.starts_with(words)) return false;
  rest_.remove_prefix(words.size());
  return true;
}

void LineScanner::expect(std::string_view words) {
  if (!take(words)) fail(text("expected \"", words, "\" at \"", rest_, "\""));
}

std::int64_t LineScanner::integer() {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc()) fail(text("expected a number at \"", rest_, "\""));
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

int LineScanner::index(std::size_t limit) {
  const std::int64_t value = integer();
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (value < 0 || value > kMax || static_cast<std::size_t>(value) >= limit) {
    fail(text(value, " is not below ", limit));
  }
  return static_cast<int>(value);
}

std::string_view LineScanner::name() {
  std::size_t length = 0;
  const auto belongs = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (length < rest_.size() && belongs(rest_[length])) ++length;
  if (length == 0) fail(text("expected a name at \"", rest_, "\""));
  const std::string_view found = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return found;
}

std::string_view LineScanner::rest() {
  const std::string_view found = rest_;
  rest_ = {};
  return found;
}

void LineScanner::expect_end() const {
  if (!rest_.empty()) fail(text("expected the end of the line at \"", rest_, "\""));
}

void LineScanner::fail(const std::string& reason) const {
  throw std::runtime_error(text("line ", line_.number, ": ", reason, " in \"", line_.text, "\""));
}

}  // namespace kiln::test
