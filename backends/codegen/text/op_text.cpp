// The table, and the function templates generated from it.
#include "backends/codegen/text/op_text.h"

#include "core/ops/table.h"
#include "core/types/text.h"

#include <algorithm>
#include <iterator>

namespace kiln::codegen {
namespace {

using ir::Op;
using enum FlushRule;

constexpr OpText kTexts[] = {
    {Op::Neg, "-x", "wrap<T>(0 - bits(x))", Operands},
    {Op::Abs, "fabs_of(x)", "x < 0 ? wrap<T>(0 - bits(x)) : x", Operands},
    {Op::Sign, "x > 0 ? T(1) : x < 0 ? T(-1) : x", "T((x > 0) - (x < 0))", Operands},
    {Op::Floor, "floor_of(x)", nullptr, Operands},
    {Op::Round, "nearbyint_of(x)", nullptr, Operands},
    {Op::Exp, "exp_of(x)", nullptr},
    {Op::Expm1, "expm1_of(x)", nullptr},
    {Op::Log, "log_of(x)", nullptr},
    {Op::Log1p, "log1p_of(x)", nullptr},
    {Op::Sqrt, "sqrt_of(x)", nullptr, Operands},
    {Op::Sin, "sin_of(x)", nullptr},
    {Op::Cos, "cos_of(x)", nullptr},
    {Op::Tanh, "tanh_of(x)", nullptr},
    {Op::Sigmoid, "sigmoid_of(x)", nullptr},
    {Op::Erf, "erf_of(x)", nullptr},
    {Op::Atan, "atan_of(x)", nullptr},
    {Op::Not, "x == 0", "x == 0", Operands, true},
    {Op::Add, "sum_of(x, y)", "wrap<T>(bits(x) + bits(y))", ByInstruction},
    {Op::Sub, "difference_of(x, y)", "wrap<T>(bits(x) - bits(y))", ByInstruction},
    {Op::Mul, "product_of(x, y)", "wrap<T>(bits(x) * bits(y))", ByInstruction},
    {Op::Div, "x / y",
     "y == 0 ? T(0) : kSigned<T> && y == T(-1) ? wrap<T>(0 - bits(x)) : T(x / y)"},
    {Op::Mod, "fmod_of(x, y)", "y == 0 || (kSigned<T> && y == T(-1)) ? T(0) : T(x % y)"},
    {Op::Pow, "pow_of(x, y)", "integer_power(x, y)"},
    {Op::Maximum, "maximum_of(x, y)", "x > y ? x : y", ByInstruction},
    {Op::Minimum, "minimum_of(x, y)", "x < y ? x : y", ByInstruction},
    {Op::Equal, "x == y", "x == y", Operands, true},
    {Op::Less, "x < y", "x < y", Operands, true},
    {Op::LessEqual, "x <= y", "x <= y", Operands, true},
    {Op::And, "x != 0 && y != 0", "x != 0 && y != 0", Operands, true},
    {Op::Or, "x != 0 || y != 0", "x != 0 || y != 0", Operands, true},
    {Op::BitAnd, nullptr, "T(x & y)"},
    {Op::BitOr, nullptr, "T(x | y)"},
    {Op::BitXor, nullptr, "T(x ^ y)"},
    {Op::Select, "x != 0 ? y : z", "x != 0 ? y : z", Operands},
};

constexpr bool is_written(const ir::OpDef& d) {
  return !has_scalar_meaning(d) || std::any_of(std::begin(kTexts), std::end(kTexts),
                                               [&](const OpText& row) { return row.op == d.op; });
}
static_assert(ir::every_op(is_written), "an elementwise op has no row in op_text.cpp");

std::string function_of(const OpText& row) {
  const ir::OpDef& d = ir::def(row.op);
  const char* parameters = d.arity == 1 ? "T x" : d.arity == 2 ? "T x, T y" : "Bool x, T y, T z";
  const char* result = row.is_predicate ? "Bool" : "T";
  std::string out = text("template <class T> ", result, " op_", d.name, "(", parameters, ") {\n");
  if (!row.integral || !row.floating) {
    return out + text("  return ", row.integral ? row.integral : row.floating, ";\n}\n");
  }
  out += text("  if constexpr (kFloating<T>) return ", row.floating, ";\n");
  return out + text("  else return ", row.integral, ";\n}\n");
}

}  // namespace

std::span<const OpText> op_texts() { return kTexts; }

const OpText* find_op_text(ir::Op op) {
  for (const OpText& row : kTexts) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

std::string op_functions() {
  std::string out;
  for (const OpText& row : kTexts) out += function_of(row);
  return out;
}

}  // namespace kiln::codegen
