// The table of elementary functions: each has a formula or calls the compiler's math library.
#include "backends/codegen/text/formula_text.h"

#include "backends/codegen/formulas/atan.h"
#include "backends/codegen/formulas/erf.h"
#include "backends/codegen/formulas/exp.h"
#include "backends/codegen/formulas/log.h"
#include "backends/codegen/formulas/pow.h"
#include "backends/codegen/formulas/trig.h"
#include "backends/codegen/text/text_builder.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <algorithm>
#include <iterator>

namespace kiln::codegen {
namespace {

using ir::Op;
using Unary = TextValue (*)(const TextBuilder& f, const TextValue& x);

struct Row {
  Op op;
  Unary formula = nullptr;  // null: pow
  double limit = 0;         // of |x|, beyond which the library is called; 0: none
};

constexpr Row kRows[] = {
    {Op::Exp, formulas::exp<TextBuilder>},
    {Op::Expm1, formulas::expm1<TextBuilder>},
    {Op::Log, formulas::log<TextBuilder>},
    {Op::Log1p, formulas::log1p<TextBuilder>},
    {Op::Sin, formulas::sin<TextBuilder>, formulas::kTrigLimit},
    {Op::Cos, formulas::cos<TextBuilder>, formulas::kTrigLimit},
    {Op::Tanh, formulas::tanh<TextBuilder>},
    {Op::Sigmoid, formulas::sigmoid<TextBuilder>},
    {Op::Erf, formulas::erf<TextBuilder>},
    {Op::Atan, formulas::atan<TextBuilder>},
    {Op::Pow},
};

const Row* row_of(Op op) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows),
                                   [op](const Row& row) { return row.op == op; });
  return found == std::end(kRows) ? nullptr : found;
}

/// A call of the compiler's math library.
std::string library_call(const Formula& formula, const char* arguments) {
  const char* suffix = formula.is_double ? "" : "f";
  return text("return KILN_BUILTIN(", ir::def(formula.op).name, suffix, ")(", arguments, ");");
}

void write_pow(const Formula& formula, const TextBuilder& f, TextLines& lines) {
  if (formula.is_double) return lines.line(library_call(formula, "x, y"));
  const TextValue x{"x", f.type()}, y{"y", f.type()};
  lines.line(text("return ", formulas::pow(f, x, y).text, ";"));
}

void write_unary(const Row& row, const Formula& formula, const TextBuilder& f, TextLines& lines) {
  if (row.limit != 0) {
    lines.line(text("if (fabs_of(x) > ", f.real(row.limit).text, ") ", library_call(formula, "x")));
  }
  lines.line(text("return ", row.formula(f, {"x", f.type()}).text, ";"));
}

std::string function_text(const Formula& formula) {
  const Row& row = *row_of(formula.op);
  FunctionBody body;
  const TextBuilder f(body, formula.is_double);
  const std::string second = row.formula ? "" : text(", ", f.type(), " y");
  body.lines.open(text("inline ", f.type(), " ", ir::def(formula.op).name, "_of(", f.type(), " x",
                       second, ")"));
  if (row.formula) {
    write_unary(row, formula, f, body.lines);
  } else {
    write_pow(formula, f, body.lines);
  }
  body.lines.close();
  return body.lines.str();
}

}  // namespace

const Formulas& all_formulas() {
  // Threads may compile while the process exits.
  static const NoDestructor<Formulas> all([] {
    Formulas formulas;
    for (const Row& row : kRows) {
      formulas.insert({row.op, false});
      formulas.insert({row.op, true});
    }
    return formulas;
  }());
  return *all;
}

void add_formulas(const Kernel& kernel, Formulas& used) {
  for (const Expression& e : kernel.expressions) {
    if (e.kind != ExpressionKind::Apply || row_of(e.op) == nullptr) continue;
    used.insert({e.op, e.dtype == DType::Float64});
  }
}

std::string formula_functions(const Formulas& used) {
  std::string out;
  for (const Formula& formula : used) out += function_text(formula);
  return out;
}

}  // namespace kiln::codegen
