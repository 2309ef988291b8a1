// Emits the expressions and stores of a kernel at one point.
#pragma once

#include "backends/codegen/kernel/kernel.h"
#include "backends/codegen/text/text_lines.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// Writes to `lines`. The enclosing text declares an index `i<axis>` for each axis, a pointer
/// `b<number>` for each operand, `s64 n<number>` for each of Kernel::sizes, `r<stage>` for each
/// result, `seed`, `call_counter`, and `out_of_range(access, index, limit)`, which is called for an
/// index outside of its limit and returns false.
class PointText {
 public:
  PointText(const Kernel& kernel, TextLines& lines) : kernel_(kernel), lines_(lines) { begin(); }

  /// Begins a new scope, in which nothing is declared.
  void begin();
  /// Declares the backward slice of the roots, except for expressions that the scope has: as
  /// `v<number>`, and with subnormals flushed as `f<number>` where the value may be subnormal.
  void evaluate(const std::vector<ExpressionId>& roots);
  /// Declares these expressions, in the order of the kernel. REQUIRES: their arguments are declared
  /// or among them.
  void declare(const ExpressionFlags& wanted);
  /// Declares the expression with the given text as its value.
  void declare(ExpressionId id, const std::string& value);
  bool is_declared(ExpressionId id) const { return declared_[id]; }
  /// The sum that an accumulating store writes; `old`: the element before it.
  std::string sum(const Store& store, const std::string& old) const;
  /// `old`: the element before an accumulating store; empty: the store loads it.
  void write_store(const Store& store, const std::string& old = "");

  /// "b0, element", the arguments of a load or a store, at the given value of the dynamic index (an
  /// expression of type s64).
  std::string element(AccessId access, const std::string& dynamic_index) const;
  /// The declared value of the dynamic index, of type s64.
  std::string index(const Access& access) const;
  /// A declared value with subnormals flushed, and as an operand of this op.
  std::string flushed(ExpressionId expression) const;
  std::string operand(ir::Op op, ExpressionId expression) const;
  /// The element, or 0 where the condition of the access is false.
  std::string load(AccessId access) const;
  /// The text of an expression whose arguments are declared.
  std::string value(const Expression& e) const;
  /// A size as an expression of type s64.
  std::string size(const ir::Dim& dim) const;
  DType dtype_of(ExpressionId expression) const;
  /// The condition under which the access touches memory: its guard, and its dynamic index in range
  /// (checked only if the guard holds); empty: always.
  std::string condition(AccessId access) const;
  /// "b0, element", the arguments of loads and stores.
  std::string element(AccessId access) const;

 private:
  /// Whether the value is never subnormal, or its dtype has none.
  bool is_as_declared(ExpressionId expression) const;
  std::string argument(const Expression& e, std::size_t i) const;
  std::string convert(const Expression& e) const;
  std::string random(const Expression& e) const;

  const Kernel& kernel_;
  TextLines& lines_;
  ExpressionFlags declared_;  // expressions that the scope has
};

}  // namespace kiln::codegen
