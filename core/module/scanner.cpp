// Scans words, numbers and quoted texts; errors compute line and column from the start of the text.
#include "core/module/scanner.h"

#include "core/ir/scope.h"
#include "core/module/element_text.h"
#include "core/module/local_symbols.h"
#include "core/module/read.h"
#include "core/module/text_form.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <charconv>

namespace kiln::module {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void Scanner::fail_at(std::size_t position, const std::string& message) const {
  const std::string_view before = text_.substr(0, std::min(position, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 when there is none
  throw IoError("", "", text(file_, ":", line, ":", before.size() - line_start + 1, ": ", message));
}

void Scanner::fail_expected(const std::string& what) {
  skip_space();
  constexpr std::size_t kShown = 24;
  std::size_t end = at_;
  while (end < text_.size() && end - at_ < kShown && !is_blank(text_[end])) ++end;
  if (end == at_) fail(text("expected ", what, ", found the end of the file"));
  std::string found;
  for (const char c : text_.substr(at_, end - at_)) found += c >= 0x20 && c < 0x7f ? c : '?';
  fail(text("expected ", what, ", found '", found, "'"));
}

void Scanner::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == ';') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_blank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

bool Scanner::at_end() {
  skip_space();
  return at_ == text_.size();
}

char Scanner::peek() {
  skip_space();
  return here();
}

bool Scanner::take(char c) {
  skip_space();
  return take_here(c);
}

bool Scanner::take_here(char c) {
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void Scanner::expect(char c) {
  if (!take(c)) fail_expected(text("'", c, "'"));
}

std::string_view Scanner::word() {
  skip_space();
  const std::size_t start = at_;
  if (!is_letter(here())) return {};
  while (is_letter(here()) || is_digit(here())) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::peek_word() {
  skip_space();
  const std::size_t start = at_;
  const std::string_view next = word();
  at_ = start;
  return next;
}

void Scanner::expect_word(std::string_view expected) {
  if (peek_word() != expected) fail_expected(text("'", expected, "'"));
  word();
}

std::string_view Scanner::symbol_here() {
  const std::size_t start = at_;
  while (is_symbol_character(here())) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::token() {
  skip_space();
  const std::size_t start = at_;
  constexpr std::string_view kEnds = ",[]{}=;\"";
  while (at_ < text_.size() && !is_blank(text_[at_]) &&
         kEnds.find(text_[at_]) == std::string_view::npos) {
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

template <class Number>
Number Scanner::number_here(const char* what) {
  Number value = 0;
  const char* const start = text_.data() + at_;
  const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail(text(what, " does not fit in 64 bits"));
  if (error != std::errc{}) fail_expected(what);
  at_ += static_cast<std::size_t>(end - start);
  return value;
}

std::int64_t Scanner::integer_here(const char* what) { return number_here<std::int64_t>(what); }
std::int64_t Scanner::integer(const char* what) {
  skip_space();
  return number_here<std::int64_t>(what);
}
std::uint64_t Scanner::number(const char* what) {
  skip_space();
  return number_here<std::uint64_t>(what);
}

std::string Scanner::quoted() {
  if (!take('"')) fail_expected("a text in quotes");
  std::string value;
  while (true) {
    if (at_ == text_.size() || text_[at_] == '\n') fail("a text in quotes does not end");
    const char c = text_[at_++];
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    const char escape = here();
    ++at_;
    if (escape == '"' || escape == '\\') {
      value += escape;
    } else if (escape == 'n') {
      value += '\n';
    } else if (escape == 'x' && at_ + 1 < text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      value += static_cast<char>(hex_digit(text_[at_]) * 16 + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else {
      fail_at(at_ - 2, "unknown escape in a text in quotes");
    }
  }
}

bool Scanner::origin_word(std::string& word) {
  if (here() == '"') {
    word = quoted();
    return true;
  }
  while (is_plain_character(here())) word += text_[at_++];
  return !word.empty();
}

bool Scanner::where_here(Where& where) {
  std::string file;
  if (!origin_word(file) || !take_here(':') || !has_number_here()) return false;
  unsigned line = 0;
  const char* const start = text_.data() + at_;
  const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), line);
  if (error != std::errc{}) return false;
  at_ += static_cast<std::size_t>(end - start);
  where = {interned_text(file), line};
  return true;
}

bool Scanner::scope_reference(const ir::Scope*& scope) {
  constexpr std::string_view kIn = " in #";
  if (text_.substr(at_, kIn.size()) != kIn) return false;
  at_ += kIn.size();
  const std::size_t position = at_;
  const auto number = number_here<std::uint64_t>("the number of a name scope");
  if (number >= scopes_.size()) {
    fail_at(position, text("name scope #", number, " is not defined before"));
  }
  scope = scopes_[number];
  return true;
}

void Scanner::scope_line() {
  expect('#');
  const std::size_t position = at_;
  if (number_here<std::uint64_t>("the number of a name scope") != scopes_.size()) {
    fail_at(position, text("expected scope #", scopes_.size()));
  }
  ir::Scope scope;
  if (!take_here(' ')) fail_expected("the name of a scope");
  const std::size_t name_position = at_;
  if (!origin_word(scope.name)) fail_expected("the name of a scope");
  const std::string fault = ir::scope_name_fault(scope.name);
  if (!fault.empty()) fail_at(name_position, "the name of a scope " + fault);
  if (!take_here(' ') || !where_here(scope.where)) fail_expected("a source line");
  scope_reference(scope.parent);
  if (ir::scope_depth(scope.parent) == ir::kMaxScopeDepth) {
    fail_at(position, text("more than ", ir::kMaxScopeDepth, " name scopes are inside each other"));
  }
  scopes_.push_back(ir::intern_scope(scope));
}

bool Scanner::origin_comment(ir::Origin& origin) {
  std::string function;
  Where where;
  if (!take_here(';') || !take_here(' ') || !origin_word(function) || !take_here(' ') ||
      !where_here(where)) {
    return false;
  }
  const ir::Scope* scope = nullptr;
  if (scope_reference(scope)) {
    at_ = std::min(text_.find('\n', at_), text_.size());  // the path, for people
  }
  while (here() == ' ' || here() == '\r') ++at_;
  if (at_ != text_.size() && here() != '\n') return false;
  origin = {where, interned_text(function), scope};
  return true;
}

ir::Origin Scanner::trailing_origin() {
  while (here() == ' ' || here() == '\t') ++at_;
  const std::size_t start = at_;
  ir::Origin origin;
  if (here() != ';' || origin_comment(origin)) return origin;
  at_ = start;  // another comment
  return {};
}

}  // namespace kiln::module
