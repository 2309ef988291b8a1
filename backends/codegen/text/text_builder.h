// The FormulaBuilder that emits C++ statements: one constant per operation (SSA form).
#pragma once

#include "backends/codegen/formulas/builder.h"
#include "backends/codegen/text/text_lines.h"

#include <string>

namespace kiln::codegen {

/// The name of a constant, or a literal.
struct TextValue {
  std::string text;
  const char* type = "";
};

/// The body of a function: statements, and the number of constants that they declare.
struct FunctionBody {
  TextLines lines;
  int constants = 0;
};

/// The text calls fma_of, fabs_of, copysign_of and from_bits of the prelude. REQUIRES: the body
/// outlives the builder.
class TextBuilder {
 public:
  using Value = TextValue;

  TextBuilder(FunctionBody& to, bool is_double) : format{is_double}, body_(to) {}

  formulas::FloatFormat format;

  const char* type() const { return format.is_double ? "double" : "float"; }
  Value real(double x) const;
  Value nan() const;
  Value integer(std::uint64_t x) const;

  Value add(const Value& x, const Value& y) const { return operation(x, "+", y, x.type); }
  Value subtract(const Value& x, const Value& y) const { return operation(x, "-", y, x.type); }
  Value multiply(const Value& x, const Value& y) const { return operation(x, "*", y, x.type); }
  Value divide(const Value& x, const Value& y) const { return operation(x, "/", y, x.type); }
  static bool has_fma() { return true; }
  Value multiply_add(const Value& x, const Value& y, const Value& z) const;
  Value negate(const Value& x) const { return declare(x.type, "-" + x.text); }
  Value magnitude(const Value& x) const { return call(x.type, "fabs_of", x.text); }
  Value with_sign_of(const Value& x, const Value& sign) const;

  Value less(const Value& x, const Value& y) const { return operation(x, "<", y, kBool); }
  Value less_equal(const Value& x, const Value& y) const { return operation(x, "<=", y, kBool); }
  Value equal(const Value& x, const Value& y) const { return operation(x, "==", y, kBool); }
  Value equal_or_nan(const Value& x, const Value& y) const;
  Value both(const Value& x, const Value& y) const { return operation(x, "&&", y, kBool); }
  Value either(const Value& x, const Value& y) const { return operation(x, "||", y, kBool); }
  Value negation(const Value& x) const { return declare(kBool, "!" + x.text); }
  Value choose(const Value& condition, const Value& x, const Value& y) const;

  Value bits(const Value& x) const;
  Value from_bits(const Value& x) const;
  Value add_bits(const Value& x, const Value& y) const { return add(x, y); }
  Value subtract_bits(const Value& x, const Value& y) const { return subtract(x, y); }
  Value and_bits(const Value& x, const Value& y) const { return operation(x, "&", y, x.type); }
  Value or_bits(const Value& x, const Value& y) const { return operation(x, "|", y, x.type); }
  Value xor_bits(const Value& x, const Value& y) const { return operation(x, "^", y, x.type); }
  Value shift_left(const Value& x, unsigned count) const;
  Value shift_right(const Value& x, unsigned count) const;
  Value shift_right_signed(const Value& x, unsigned count) const;
  Value from_signed(const Value& x) const;
  Value differs(const Value& x, const Value& y) const { return operation(x, "!=", y, kBool); }
  Value lowest_bit(const Value& x) const;

  TextBuilder doubles() const { return {body_, true}; }
  Value widen(const Value& x) const { return call("double", "double", x.text); }
  Value narrow(const Value& x) const { return call("float", "float", x.text); }

 private:
  static constexpr const char* kBool = "bool";

  const char* unsigned_type() const { return format.is_double ? "u64" : "u32"; }
  const char* signed_type() const { return format.is_double ? "s64" : "s32"; }
  /// const <type> v<number> = <expression>;
  Value declare(const char* type, const std::string& expression) const;
  Value operation(const Value& x, const char* symbol, const Value& y, const char* type) const {
    return declare(type, x.text + " " + symbol + " " + y.text);
  }
  Value call(const char* type, const std::string& function, const std::string& arguments) const {
    return declare(type, function + "(" + arguments + ")");
  }

  FunctionBody& body_;
};

}  // namespace kiln::codegen
