// Tests that every equation holds: evaluates both sides and compares bits (NaN payloads aside,
// subnormals as zeros of their sign), on all combinations of special values and on random ones.
// `evaluate` runs no pass: of a rule it shares nothing but the scalar meanings of ops.
#include "core/ops/build.h"
#include "core/rewrite/rules.h"
#include "tests/support/catch.h"
#include "tests/core/ops/special_values.h"

#include <set>

namespace kiln::test {
namespace {

using ir::Value;
using rewrite::Equation;
using rewrite::Pattern;

constexpr int kVariables = 4;
constexpr int kRandom = 64;

void collect(const Pattern& pattern, std::set<int>& all, std::set<int>& conditions) {
  if (const auto* variable = pattern.as<rewrite::Variable>()) {
    all.insert(variable->index);
    if (variable->is_condition) conditions.insert(variable->index);
  }
  const auto* application = pattern.as<rewrite::Application>();
  if (application == nullptr) return;
  for (const Pattern& operand : application->operands) collect(operand, all, conditions);
}

/// An equation on fresh parameters of one dtype.
struct Sides {
  std::vector<DType> dtypes;
  std::vector<Value> parameters;
  Value left, right;
};

Sides sides_of(const Equation& equation, DType dtype, std::mt19937_64& generator,
               std::vector<Array>& feeds) {
  std::set<int> all, conditions;
  collect(equation.left, all, conditions);
  collect(equation.right, all, conditions);
  Sides sides;
  for (int v : all) sides.dtypes.push_back(conditions.count(v) != 0 ? DType::Bool : dtype);
  feeds = all_combinations(sides.dtypes, kRandom, generator);
  std::vector<Value> variables(kVariables);
  std::size_t next = 0;
  for (int v : all) {
    sides.parameters.push_back(placeholder(type_of(feeds[next++])));
    variables[static_cast<std::size_t>(v)] = sides.parameters.back();
  }
  const ir::Type numbers{dtype, sides.parameters[0].dims()};
  sides.left = rewrite::instantiate(equation.left, variables, numbers);
  const bool number = equation.right.as<rewrite::Number>() != nullptr;
  const ir::Type result{number ? sides.left.dtype() : dtype, numbers.dims};
  sides.right = rewrite::instantiate(equation.right, variables, result);
  return sides;
}

/// The operands of element i.
std::string operands_at(const std::vector<Array>& feeds, std::size_t i) {
  std::string operands;
  for (const Array& feed : feeds) operands += std::to_string(doubles(feed).at(i)) + " ";
  return operands;
}

void check_same(const Array& left, const Array& right, const std::vector<Array>& feeds) {
  const std::string found = bit_difference(left, right);
  if (found.empty()) return;
  const bool is_element = found.rfind("element ", 0) == 0;
  INFO("operands " << (is_element ? operands_at(feeds, std::stoul(found.substr(8))) : ""));
  CHECK(found == "");
}

TEST_CASE("equations: each holds for all its dtypes and fires on its own left side") {
  std::mt19937_64 generator(1);
  for (const Equation& equation : rewrite::equations()) {
    int dtypes = 0;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if ((equation.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      ++dtypes;
      INFO("equation " << equation.name << " on " << info(dtype).name);
      std::vector<Array> feeds;
      const Sides sides = sides_of(equation, dtype, generator, feeds);
      CHECK(rewrite::try_equation(equation, *sides.left.node));
      const auto results = evaluate(sides.parameters, {sides.left, sides.right}, feeds);
      check_same(results[0], results[1], feeds);
    }
    CHECK(dtypes > 0);
  }
}

TEST_CASE("simplify: idempotent, and puts constants last") {
  std::mt19937_64 generator(3);
  for (const Equation& equation : rewrite::equations()) {
    INFO("equation " << equation.name);
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if ((equation.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      std::vector<Array> feeds;
      const Sides sides = sides_of(equation, dtype, generator, feeds);
      const std::vector<Value> once = rewrite::Simplifier().simplify({sides.left});
      CHECK(rewrite::Simplifier().simplify(once) == once);
      CHECK_FALSE(once[0] == sides.left);
    }
  }
  const Value x = placeholder({DType::Float32, {3}}), y = placeholder({DType::Float32, {3}});
  const auto simplified = [](const Value& value) {
    return rewrite::Simplifier().simplify({value})[0];
  };
  CHECK(simplified(2.0 * x) == simplified(x * 2.0));
  CHECK(simplified(2.0 * x).node->operands[0] == x);
  const std::vector<Value> both = rewrite::Simplifier().simplify({x + y, y + x});
  CHECK(both[0] == both[1]);
}

}  // namespace
}  // namespace kiln::test
