// Literals are hexadecimal, which needs no rounding.
#include "backends/codegen/text/text_builder.h"

#include "core/types/text.h"

#include <charconv>
#include <cmath>

namespace kiln::codegen {

static_assert(formulas::FormulaBuilder<TextBuilder>);

TextValue TextBuilder::declare(const char* type, const std::string& expression) const {
  const std::string name = text("v", body_.constants++);
  body_.lines.line(text("const ", type, " ", name, " = ", expression, ";"));
  return {name, type};
}

TextValue TextBuilder::real(double x) const {
  const double rounded = format.is_double ? x : static_cast<double>(static_cast<float>(x));
  if (std::isinf(rounded)) {
    const char* bits = format.is_double ? "0x7ff0000000000000ull" : "0x7f800000u";
    return {text(rounded < 0 ? "-" : "", "from_bits<", type(), ">(", bits, ")"), type()};
  }
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, std::fabs(rounded), std::chars_format::hex).ptr;
  return {text(std::signbit(rounded) ? "-" : "", "0x", std::string(digits, end),
               format.is_double ? "" : "f"),
          type()};
}

TextValue TextBuilder::nan() const {
  const char* bits = format.is_double ? "0x7ff8000000000000ull" : "0x7fc00000u";
  return {text("from_bits<", type(), ">(", bits, ")"), type()};
}

TextValue TextBuilder::integer(std::uint64_t x) const {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, x, 16).ptr;
  return {text("0x", std::string(digits, end), format.is_double ? "ull" : "u"), unsigned_type()};
}

TextValue TextBuilder::multiply_add(const Value& x, const Value& y, const Value& z) const {
  return call(type(), "fma_of", text(x.text, ", ", y.text, ", ", z.text));
}

TextValue TextBuilder::with_sign_of(const Value& x, const Value& sign) const {
  return call(type(), "copysign_of", text(x.text, ", ", sign.text));
}

TextValue TextBuilder::equal_or_nan(const Value& x, const Value& y) const {
  return declare(kBool, text("!(", x.text, " < ", y.text, " || ", x.text, " > ", y.text, ")"));
}

TextValue TextBuilder::choose(const Value& condition, const Value& x, const Value& y) const {
  return declare(x.type, text(condition.text, " ? ", x.text, " : ", y.text));
}

TextValue TextBuilder::bits(const Value& x) const {
  return call(unsigned_type(), text("from_bits<", unsigned_type(), ">"), x.text);
}

TextValue TextBuilder::from_bits(const Value& x) const {
  return call(type(), text("from_bits<", type(), ">"), x.text);
}

TextValue TextBuilder::shift_left(const Value& x, unsigned count) const {
  return declare(unsigned_type(), text(x.text, " << ", count));
}

TextValue TextBuilder::shift_right(const Value& x, unsigned count) const {
  return declare(unsigned_type(), text(x.text, " >> ", count));
}

TextValue TextBuilder::shift_right_signed(const Value& x, unsigned count) const {
  return call(unsigned_type(), unsigned_type(), text(signed_type(), "(", x.text, ") >> ", count));
}

TextValue TextBuilder::from_signed(const Value& x) const {
  return call(type(), type(), text(signed_type(), "(", x.text, ")"));
}

TextValue TextBuilder::lowest_bit(const Value& x) const {
  return declare(kBool, text("(", x.text, " & 1) != 0"));
}

}  // namespace kiln::codegen
