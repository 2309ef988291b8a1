// Tests gradients of elementwise ops on scalars, by folding constants: against differences at
// ordinary points to second order, and exactly where a rule must choose (ties, zeros, edges).
#include "tests/support/catch.h"

#include "tests/core/ops_unit/build_graph.h"

#include "core/autodiff/vjp.h"
#include "core/ops/convert.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/rewrite_graph.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::ir;

namespace {

/// The value of a scalar expression for values of its arguments.
double evaluate_at(const Value& y, const std::vector<Value>& x, const std::vector<double>& at) {
  Replacements replacements;
  for (std::size_t i = 0; i < x.size(); ++i) {
    replacements.emplace(x[i], scalar_constant(x[i].dtype(), at[i]));
  }
  const std::vector<Value> roots{y};
  const std::vector<Value> placed = replace_values(roots, replacements);
  const auto fold = [](const NodeRef& node) -> std::vector<Value> {
    if (node->operands.empty()) return {{node, 0}};
    if (node->op == Op::StopGradient) return {node->operands[0]};
    return {fold_scalar(*node)};
  };
  return scalar_of<double>(rewrite_nodes(placed, fold)[0]);
}

/// Arguments of an op: bool for the condition of Select, else float64.
std::vector<Value> arguments_of(const OpDef& d) {
  std::vector<Value> x;
  for (int i = 0; i < d.arity; ++i) {
    const bool is_condition = d.op == Op::Select && i == 0;
    x.push_back(argument(i, {is_condition ? DType::Bool : DType::Float64, {}}));
  }
  return x;
}

std::vector<Value> gradient(const Value& y, const std::vector<Value>& x) {
  const std::vector<Value> ys{y}, dys{like(y, 1)};
  return autodiff::vjp(ys, dys, x).dx;
}

/// d op / d x[i] at a point.
double slope(Op op, std::size_t i, const std::vector<double>& at) {
  const std::vector<Value> x = arguments_of(def(op));
  return evaluate_at(gradient(make(op, NoAttrs{}, x), x)[i], x, at);
}

void check_against_differences(const Value& y, const std::vector<Value>& x, std::size_t i,
                               const std::vector<double>& at) {
  const Value dx = gradient(y, x)[i];
  constexpr double kStep = 1e-5;
  std::vector<double> low = at, high = at;
  low[i] -= kStep;
  high[i] += kStep;
  const double expected = (evaluate_at(y, x, high) - evaluate_at(y, x, low)) / (2 * kStep);
  INFO(i);
  CHECK((dx ? evaluate_at(dx, x, at) : 0.0) == Approx(expected).epsilon(1e-6).margin(1e-6));
}

}  // namespace

TEST_CASE("elementwise gradients: agree with differences to second order") {
  const std::vector<double> points[] = {{0.7, 1.3, 0.4}, {1.9, 0.6, -0.8}, {2.3, 2.9, 1.7}};
  int checked = 0;
  for (const OpDef& d : all_ops()) {
    if (!has_scalar_meaning(d) || !d.differentiable) continue;
    const std::vector<Value> x = arguments_of(d);
    const Value y = make(d.op, NoAttrs{}, x);
    for (std::vector<double> at : points) {
      at.resize(x.size());
      INFO(d.name << " at " << at[0]);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i].dtype() == DType::Bool) continue;
        check_against_differences(y, x, i, at);
        const Value dx = gradient(y, x)[i];
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (x[j].dtype() != DType::Bool) check_against_differences(dx, x, j, at);
        }
        ++checked;
      }
    }
  }
  CHECK(checked > 60);
}

TEST_CASE("elementwise gradients: a tie gives its gradient to the first operand") {
  CHECK(slope(Op::Maximum, 0, {2, 2}) == 1);
  CHECK(slope(Op::Maximum, 1, {2, 2}) == 0);
  CHECK(slope(Op::Minimum, 0, {2, 2}) == 1);
  CHECK(slope(Op::Minimum, 1, {2, 2}) == 0);
  CHECK(slope(Op::Maximum, 0, {-0.0, 0.0}) == 1);
  CHECK(slope(Op::Abs, 0, {0}) == 0);
}

TEST_CASE("elementwise gradients: powers at zero and below") {
  CHECK(slope(Op::Pow, 0, {0, 0}) == 0);
  CHECK(slope(Op::Pow, 1, {0, 0}) == 0);
  CHECK(slope(Op::Pow, 0, {0, 1}) == 1);
  CHECK(slope(Op::Pow, 0, {0, 2}) == 0);
  CHECK(slope(Op::Pow, 0, {-3, 2}) == -6);
  CHECK(slope(Op::Pow, 1, {-3, 2}) == 0);
  CHECK(slope(Op::Pow, 0, {kInf, 0}) == 0);
  const std::vector<Value> x = arguments_of(def(Op::Pow));
  const Value y = make(Op::Pow, NoAttrs{}, x);
  const auto second = [&](std::size_t i, std::size_t j, std::vector<double> at) {
    return evaluate_at(gradient(gradient(y, x)[i], x)[j], x, at);
  };
  CHECK(second(0, 0, {0, 2}) == 2);
  CHECK(second(0, 0, {-3, 2}) == 2);
  CHECK(second(1, 1, {-3, 2}) == 0);
  CHECK(second(1, 1, {0, 2}) == 0);
  CHECK(second(0, 0, {0, 1}) == 0);
}

TEST_CASE("elementwise gradients: a masked branch does not leak its infinities") {
  const Value x = argument({DType::Float64, {}}), zero = like(x, 0);
  const Value safe = select(less(zero, x), x, like(x, 1));
  const Value y = select(less(zero, x), unary(Op::Log, safe), zero);
  CHECK(evaluate_at(gradient(y, {x})[0], {x}, {0}) == 0);
  CHECK(evaluate_at(gradient(y, {x})[0], {x}, {4}) == 0.25);
}

TEST_CASE("elementwise gradients: casts pass gradients between floats only") {
  const Value x = argument({DType::Float64, {}});
  const Value narrow = cast(cast(x, DType::Float32) * 3.0, DType::Float64);
  CHECK(evaluate_at(gradient(narrow, {x})[0], {x}, {1}) == 3);
  const Value integral = cast(cast(x, DType::Int32), DType::Float64);
  CHECK_FALSE(gradient(integral, {x})[0]);
  CHECK_FALSE(gradient(cast(less(x, x), DType::Float64), {x})[0]);
}

TEST_CASE("elementwise gradients: none through ops that are constant almost everywhere") {
  const Value x = argument({DType::Float64, {}});
  for (const Op op : {Op::Sign, Op::Floor, Op::Round}) {
    const Value y = unary(op, x);
    CHECK_FALSE(gradient(y, {x})[0]);
    CHECK(evaluate_at(gradient(y * x, {x})[0], {x}, {2.25}) == evaluate_at(y, {x}, {2.25}));
  }
  CHECK_FALSE(gradient(stop_gradient(x), {x})[0]);
}
