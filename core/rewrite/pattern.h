// Patterns: small trees of elementwise ops over variables and numbers, in which equations are
// written as data. {"sub_self", x - x, 0} is applied from left to right. A pattern stands for
// tensors of any one shape.
#pragma once

#include "core/ops/op.h"

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace kiln::rewrite {

struct PatternNode;

/// A tree, built by the operators below; cheap to copy.
class Pattern {
 public:
  Pattern(double number);  // NOLINT: a constant of the operands' dtype
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  /// The root if it is a Variable, Number or Application; else null.
  template <class Form>
  const Form* as() const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

/// Matches any value; a second occurrence matches the same value only.
struct Variable {
  int index = 0;
  bool is_condition = false;  // matches bools only, such as the condition of a Select
};
/// Matches a scalar constant, or one broadcast, by bits: -0 does not match 0.
struct Number {
  double value = 0;
};
/// Matches an op whose operands match, those of a commutative op in either order.
struct Application {
  ir::Op op{};
  std::vector<Pattern> operands;
};
struct PatternNode {
  std::variant<Variable, Number, Application> form;
};

template <class Form>
const Form* Pattern::as() const {
  return std::get_if<Form>(&node_->form);
}

Pattern variable(int index);
/// A variable that stands for bools.
Pattern condition(int index);
Pattern apply(ir::Op op, std::vector<Pattern> operands);

inline Pattern operator+(const Pattern& a, const Pattern& b) { return apply(ir::Op::Add, {a, b}); }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return apply(ir::Op::Sub, {a, b}); }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return apply(ir::Op::Mul, {a, b}); }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return apply(ir::Op::Div, {a, b}); }
inline Pattern operator-(const Pattern& a) { return apply(ir::Op::Neg, {a}); }

/// An equation that holds for every value of its dtypes, NaN, infinities and signed zeros included.
/// REQUIRES: `left` is an Application.
struct Equation {
  std::string_view name;
  Pattern left, right;
  ir::DTypeSet dtypes;  // of its variables; conditions are bool

  ir::Op root() const { return left.as<Application>()->op; }
};

}  // namespace kiln::rewrite
