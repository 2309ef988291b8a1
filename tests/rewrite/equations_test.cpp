// Every rule holds: both sides are evaluated and compared by bits (NaN payloads aside, subnormals
// as zeros of their sign), on all combinations of special values and on random ones.
#include "core/module/print.h"
#include "core/ops/build.h"
#include "core/rewrite/rules.h"
#include "tests/catch.h"
#include "tests/ops/evaluate.h"

#include <cmath>
#include <limits>
#include <set>

namespace kiln::test {
namespace {

using ir::Value;
using rewrite::Equation;
using rewrite::Pattern;
using rewrite::PatternNode;

constexpr int kVariables = 4;
constexpr int kRandom = 64;

double smallest_normal(DType dtype) {
  if (dtype == DType::Float16) return 0x1p-14;
  return dtype == DType::Float64 ? 0x1p-1022 : 0x1p-126;
}

Array special_floats(DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<double>::max(), subnormal = 0x1p-1074;
  if (dtype == DType::Float32) largest = std::numeric_limits<float>::max(), subnormal = 0x1p-149;
  if (dtype == DType::Float16) largest = 65504, subnormal = 0x1p-24;
  if (dtype == DType::BFloat16) largest = 0x1.FEp127, subnormal = 0x1p-133;
  std::vector<double> grid{std::numeric_limits<double>::quiet_NaN()};
  for (double value : {0.0, smallest_normal(dtype), subnormal, 1.0, largest, infinity}) {
    grid.insert(grid.end(), {value, -value});
  }
  return Array(grid).astype(dtype);
}

/// -1 is the largest value of an unsigned dtype.
Array special_integers(DType dtype) {
  const auto bits = static_cast<int>(dtype_bytes(dtype) * 8);
  const std::int64_t smallest = std::numeric_limits<std::int64_t>::min() >> (64 - bits);
  return Array(std::vector<std::int64_t>{0, 1, -1, 2, smallest, -(smallest + 1)}).astype(dtype);
}

Array special_values(DType dtype) {
  if (dtype == DType::Bool) return Array(std::vector<std::int64_t>{0, 1}).astype(dtype);
  return is_float(dtype) ? special_floats(dtype) : special_integers(dtype);
}

void collect(const Pattern& pattern, std::set<int>& all, std::set<int>& conditions) {
  if (pattern->kind == PatternNode::Kind::Variable) all.insert(pattern->variable);
  if (pattern->kind == PatternNode::Kind::Variable && pattern->is_bool) {
    conditions.insert(pattern->variable);
  }
  for (const Pattern& operand : pattern->operands) collect(operand, all, conditions);
}

void copy_element(const Array& from, std::size_t i, Array& to, std::size_t j) {
  const std::size_t size = dtype_bytes(from.dtype());
  std::copy_n(static_cast<const std::byte*>(from.data()) + i * size, size,
              static_cast<std::byte*>(to.data()) + j * size);
}

/// One array per variable: all combinations of the special values, then random elements.
std::vector<Array> feeds_of(const std::vector<DType>& dtypes, std::mt19937_64& generator) {
  std::vector<Array> specials, feeds;
  std::size_t combinations = 1;
  for (DType dtype : dtypes) {
    specials.push_back(special_values(dtype));
    combinations *= static_cast<std::size_t>(specials.back().size());
  }
  std::size_t stride = 1;
  for (std::size_t v = 0; v < dtypes.size(); ++v) {
    const std::size_t count = combinations + kRandom;
    const ir::Type type{dtypes[v], {static_cast<std::int64_t>(count)}};
    Array feed = random_array(generator, type, is_float(dtypes[v]) ? -4 : 0, 4);
    const auto size = static_cast<std::size_t>(specials[v].size());
    for (std::size_t i = 0; i < combinations; ++i) {
      copy_element(specials[v], i / stride % size, feed, i);
    }
    stride *= size;
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

/// Elements that differ by bits, by the first index; -1: none.
std::int64_t first_difference(const Array& a, const Array& b) {
  const std::size_t size = dtype_bytes(a.dtype());
  const auto* x = static_cast<const std::byte*>(a.data());
  const auto* y = static_cast<const std::byte*>(b.data());
  const std::vector<double> wide_a = doubles(a), wide_b = doubles(b);
  for (std::size_t i = 0; i < wide_a.size(); ++i) {
    if (std::equal(x + i * size, x + (i + 1) * size, y + i * size)) continue;
    const double p = wide_a[i], q = wide_b[i];
    const double tiny = is_float(a.dtype()) ? smallest_normal(a.dtype()) : 0;
    const bool zeros = std::fabs(p) < tiny && std::fabs(q) < tiny;
    if (is_float(a.dtype()) && std::isnan(p) && std::isnan(q)) continue;
    if (zeros && std::signbit(p) == std::signbit(q)) continue;
    return static_cast<std::int64_t>(i);
  }
  return -1;
}

void check_same(const std::vector<Array>& sides, const std::vector<Array>& feeds) {
  REQUIRE(sides[0].dtype() == sides[1].dtype());
  REQUIRE(sides[0].dims() == sides[1].dims());
  const std::int64_t at = first_difference(sides[0], sides[1]);
  if (at < 0) return;
  const auto i = static_cast<std::size_t>(at);
  std::string operands;
  for (const Array& feed : feeds) {
    if (i < static_cast<std::size_t>(feed.size())) {
      operands += std::to_string(doubles(feed)[i]) + " ";
    }
  }
  INFO("operands " << operands << "left " << doubles(sides[0])[i] << " right "
                   << doubles(sides[1])[i]);
  CHECK(at == -1);
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
  feeds = feeds_of(sides.dtypes, generator);
  std::vector<Value> variables(kVariables);
  std::size_t next = 0;
  for (int v : all) {
    sides.parameters.push_back(placeholder(type_of(feeds[next++])));
    variables[static_cast<std::size_t>(v)] = sides.parameters.back();
  }
  const ir::Type numbers{dtype, sides.parameters[0].dims()};
  sides.left = rewrite::instantiate(equation.left, variables, numbers);
  const bool number = equation.right->kind == PatternNode::Kind::Number;
  const ir::Type result{number ? sides.left.dtype() : dtype, numbers.dims};
  sides.right = rewrite::instantiate(equation.right, variables, result);
  return sides;
}

TEST_CASE("every equation holds for all its dtypes and fires on its own left side") {
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
      check_same(evaluate(sides.parameters, {sides.left, sides.right}, feeds), feeds);
    }
    CHECK(dtypes > 0);
  }
}

/// Values without operands that are not constants: the parameters of an example.
void collect_parameters(const Value& value, std::vector<Value>& found) {
  if (value.node->op == ir::Op::Parameter) {
    if (std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
    return;
  }
  for (const Value& operand : value.node->operands) collect_parameters(operand, found);
}

/// The special values in a row, over and over.
Array repeated_specials(const ir::Type& type, std::mt19937_64& generator) {
  Array array = random_array(generator, type, 0, 3);
  const Array specials = special_values(type.dtype);
  const auto size = static_cast<std::size_t>(specials.size());
  const std::size_t offset = generator() % size;
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
    copy_element(specials, (i + offset) % size, array, i);
  }
  return array;
}

TEST_CASE("every structural rule holds on its examples and fires on them") {
  std::mt19937_64 generator(2);
  for (const rewrite::StructuralRule& rule : rewrite::structural_rules()) {
    const std::vector<Value> examples = rule.examples();
    CHECK_FALSE(examples.empty());
    for (const Value& left : examples) {
      INFO("rule " << rule.name << ": " << rule.equation);
      CHECK(rule.root(left.node->op));
      const Value right = rule.apply(*left.node);
      REQUIRE(right);
      CHECK(right.type() == left.type());
      std::vector<Value> parameters;
      collect_parameters(left, parameters);
      for (int round = 0; round < 24; ++round) {
        std::vector<Array> feeds;
        for (const Value& parameter : parameters) {
          feeds.push_back(round % 2 == 0 ? random_array(generator, parameter.type(), -3, 3)
                                         : repeated_specials(parameter.type(), generator));
        }
        check_same(evaluate(parameters, {left, right}, feeds), feeds);
      }
    }
  }
}

TEST_CASE("simplify is idempotent and puts constants last") {
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
