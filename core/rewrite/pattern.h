// Equations between scalar expressions, as data: {"sub_self", x - x, 0} reads as it is applied,
// left to right. A pattern is a small tree of elementwise ops over variables and numbers; it stands
// for tensors of any one shape.
#pragma once

#include "core/ops/op.h"

#include <memory>
#include <string_view>
#include <vector>

namespace kiln::rewrite {

struct PatternNode;

/// A tree, cheap to copy. Built by the operators below.
class Pattern {
 public:
  Pattern(double number);  // NOLINT: a number is the constant of the operands' dtype
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode& operator*() const { return *node_; }
  const PatternNode* operator->() const { return node_.get(); }

 private:
  std::shared_ptr<const PatternNode> node_;
};

struct PatternNode {
  enum class Kind : std::uint8_t { Variable, Number, Apply } kind = Kind::Number;
  int variable = 0;        // Variable: which; the same one matches the same value
  bool is_bool = false;    // Variable: a bool beside numbers (the condition of a Select)
  double number = 0;       // Number: matched and built by bits (so -0 is not 0)
  ir::Op op{};             // Apply
  std::vector<Pattern> operands;
};

Pattern variable(int index);
Pattern condition(int index);
Pattern apply(ir::Op op, std::vector<Pattern> operands);

inline Pattern operator+(const Pattern& a, const Pattern& b) { return apply(ir::Op::Add, {a, b}); }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return apply(ir::Op::Sub, {a, b}); }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return apply(ir::Op::Mul, {a, b}); }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return apply(ir::Op::Div, {a, b}); }
inline Pattern operator-(const Pattern& a) { return apply(ir::Op::Neg, {a}); }

/// An equation that holds for every value of its dtypes, NaN, infinities and signed zeros included.
struct Equation {
  std::string_view name;
  Pattern left, right;
  ir::DTypeSet dtypes;  // of its variables (conditions are bool)
};

}  // namespace kiln::rewrite
