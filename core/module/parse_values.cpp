// Parses one form of value per function. Recursion follows nested dims only, whose depth is
// limited.
#include "core/module/parse_values.h"

#include "core/module/element_text.h"
#include "core/module/module.h"
#include "core/types/nearest.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::module {

void ValueParser::symbol_line() {
  scan_.skip_space();
  const std::size_t position = scan_.position();
  const std::string word(scan_.symbol_here());
  if (word.empty() || (word[0] >= '0' && word[0] <= '9')) scan_.fail_expected("a symbol's name");
  std::string name = scan_.peek() == '"' ? scan_.quoted() : word;
  if (!symbols_.emplace(word, ir::Dim::fresh(std::move(name))).second) {
    scan_.fail_at(position, text("symbol ", word, " is declared twice"));
  }
}

void ValueParser::dim_line() {
  scan_.expect('#');
  const std::size_t position = scan_.position();
  if (scan_.number("the number of a dim") != operations_.size()) {
    scan_.fail_at(position, text("expected dim #", operations_.size()));
  }
  operations_.push_back(dim());
}

void ValueParser::blob_lines() {
  scan_.skip_space();
  const std::size_t position = scan_.position();
  if (scan_.number("the number of a blob") != blobs_.size()) {
    scan_.fail_at(position, text("expected blob ", blobs_.size()));
  }
  const std::uint64_t size = scan_.number("a count of bytes");
  scan_.expect('{');
  std::vector<std::byte> bytes;
  while (!scan_.take('}')) {
    const std::size_t start = scan_.position();
    const std::string_view digits = scan_.token();
    if (digits.empty() || digits.size() % 2 != 0) scan_.fail_at(start, "expected pairs of digits");
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      const int high = hex_digit(digits[i]), low = hex_digit(digits[i + 1]);
      if (high < 0 || low < 0) scan_.fail_at(start + i, "expected hexadecimal digits");
      bytes.push_back(static_cast<std::byte>(high * 16 + low));
    }
  }
  if (bytes.size() != size) {
    scan_.fail_at(position, text("the blob has ", bytes.size(), " bytes, not ", size));
  }
  blobs_.push_back(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
}

// ---- dims: written without spaces ----

ir::Dim ValueParser::dim() {
  scan_.skip_space();
  return dim(0);
}

ir::Dim ValueParser::dim(std::size_t depth) {
  if (depth > kMaxInlineDimDepth) scan_.fail("a dim is nested too deep");
  ir::Dims terms{term(depth)};
  while (scan_.here() == '+' || scan_.here() == '-') {
    if (terms.size() > ir::kMaxDimTerms) scan_.fail("a dim has too many terms");
    scan_.take_here('+');
    terms.push_back(term(depth));
  }
  return terms.size() == 1 ? terms[0] : ir::total(terms);
}

ir::Dim ValueParser::term(std::size_t depth) {
  const std::size_t start = scan_.position();
  const bool minus = scan_.take_here('-');
  ir::Dim product = 1;
  if (scan_.has_number_here()) {
    scan_.seek(start);
    product = scan_.integer_here("a dim");
  } else {
    product = minus ? -factor(depth) : factor(depth);
  }
  while (scan_.take_here('*')) {
    const ir::Dim by = factor(depth);
    if (term_count(product) * term_count(by) > kMaxExpandedTerms) scan_.fail("a dim is too large");
    product = product * by;
  }
  return product;
}

ir::Dim ValueParser::factor(std::size_t depth) {
  if (scan_.has_number_here()) return scan_.integer_here("a dim");
  const std::size_t position = scan_.position();
  if (scan_.take_here('#')) {
    const std::uint64_t number = scan_.number("the number of a dim");
    if (number < operations_.size()) return operations_[number];
    scan_.fail_at(position, text("dim #", number, " is not defined before"));
  }
  const std::string_view word = scan_.symbol_here();
  if (word.empty()) scan_.fail_expected("a dim");
  if (scan_.take_here('(')) return call(word, position, depth);
  return symbol(word, position);
}

ir::Dim ValueParser::call(std::string_view name, std::size_t position, std::size_t depth) {
  const ir::Dim left = dim(depth + 1);
  if (!scan_.take_here(',')) scan_.fail_expected("','");
  const ir::Dim right = dim(depth + 1);
  if (!scan_.take_here(')')) scan_.fail_expected("')'");
  if (name == "floordiv") return floor_div(left, right);
  if (name == "mod") return mod(left, right);
  if (name == "max") return max(left, right);
  if (name == "min") return min(left, right);
  scan_.fail_at(position, text("a dim has no operation '", name, "'",
                               did_you_mean(name, {"floordiv", "mod", "max", "min"})));
}

ir::Dim ValueParser::symbol(std::string_view word, std::size_t position) const {
  const auto found = symbols_.find(std::string(word));
  if (found != symbols_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, dim] : symbols_) names.push_back(name);
  std::sort(names.begin(), names.end());
  scan_.fail_at(position, text("symbol '", word, "' is not declared", did_you_mean(word, names)));
}

// ---- types and plain values ----

void ValueParser::get(DType& value) {
  const std::string_view word = scan_.peek_word();
  if (word.empty()) scan_.fail_expected("a dtype");
  const auto dtype = dtype_of_name(word);
  if (!dtype) {
    std::vector<std::string> names;
    for (const DTypeInfo& known : kDTypeInfo) names.emplace_back(known.name);
    scan_.fail(text("unknown dtype '", word, "'", did_you_mean(word, names)));
  }
  scan_.word();
  value = *dtype;
}

ir::Type ValueParser::type() {
  ir::Type type;
  get(type.dtype);
  get(type.dims);
  if (type.dims.size() > kMaxDims) scan_.fail("a type has too many dims");
  return type;
}

ir::Types ValueParser::types() {
  ir::Types types;
  do {
    if (types.size() == kMaxListItems) scan_.fail("a list has too many items");
    types.push_back(type());
  } while (scan_.take_here(','));  // a comment after the last one is the node's source line
  return types;
}

void ValueParser::get(bool& value) {
  const std::string_view word = scan_.peek_word();
  if (word != "true" && word != "false") scan_.fail_expected("true or false");
  value = scan_.word() == "true";
}

// ---- elements of constants ----

void ValueParser::skip_data() {
  if (scan_.peek_word() == "blob") {
    scan_.word();
    scan_.number("the number of a blob");
    return;
  }
  if (!scan_.take('[')) {
    if (scan_.token().empty()) scan_.fail_expected("the value of the constant");
    return;
  }
  if (scan_.take(']')) return;
  do {
    if (scan_.token().empty()) scan_.fail_expected("an element");
  } while (scan_.take(','));
  scan_.expect(']');
}

ir::ConstantData ValueParser::data(DType dtype) {
  if (scan_.peek_word() == "blob") {
    scan_.word();
    scan_.skip_space();
    const std::size_t position = scan_.position();
    const std::uint64_t number = scan_.number("the number of a blob");
    if (number >= blobs_.size()) scan_.fail_at(position, text("blob ", number, " is not defined"));
    return {blobs_[number]};
  }
  std::vector<std::byte> bytes;
  const auto element = [&] {
    scan_.skip_space();
    const std::size_t position = scan_.position();
    const std::string_view token = scan_.token();
    bytes.resize(bytes.size() + dtype_bytes(dtype));
    if (!read_element(token, dtype, bytes.data() + bytes.size() - dtype_bytes(dtype))) {
      scan_.fail_at(position, text("'", token.substr(0, 24), "' is not a ", dtype));
    }
  };
  if (!scan_.take('[')) {
    element();
  } else if (!scan_.take(']')) {
    do {
      element();
    } while (scan_.take(','));
    scan_.expect(']');
  }
  return {std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace kiln::module
