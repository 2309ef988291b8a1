// Tests arithmetic of dims: one canonical form for equal polynomials, Unknown where sizes decide,
// and errors instead of overflow.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/core/ir/dim_symbols.h"

#include "core/ir/dim_evaluator.h"

#include <kiln/error.h>

#include <algorithm>
#include <array>
#include <limits>

using namespace kiln;
using namespace kiln::ir;
using namespace kiln::test;
using kiln::testing::error_text;

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("dim: an integer where it has no symbols") {
  CHECK(Dim().is_static());
  CHECK(Dim(7).value() == 7);
  CHECK((x - x).is_static());
  CHECK((x - x).value() == 0);
  CHECK((x * 0).is_static());
  CHECK((x + 3 - x).value() == 3);
  CHECK(product({}).is_one());
}

TEST_CASE("dim: equal polynomials are equal, hash equally and print equally") {
  const std::pair<Dim, Dim> pairs[] = {
      {x + y, y + x},
      {x * y, y * x},
      {(x + 1) * (x - 1), x * x - 1},
      {(x + y) * (x + y), x * x + 2 * x * y + y * y},
      {2 * (x + 3) - 6, x + x},
      {-(x - y), y - x},
      {max(x, y), max(y, x)},
      {min(x, y) + max(z, 2), max(2, z) + min(y, x)},
      {floor_div(x + y, 2), floor_div(y + x, 2)},
      {product({x, 2, y}), 2 * y * x},
  };
  for (const auto& [left, right] : pairs) {
    INFO(left << " and " << right);
    CHECK(left == right);
    CHECK(left.compare(right) == 0);
    CHECK(left.hash() == right.hash());
    CHECK(left.to_string() == right.to_string());
    CHECK(equal(left, right) == Ternary::Yes);
  }
}

TEST_CASE("dim: different polynomials differ, in an antisymmetric order") {
  const Dim dims[] = {0,     1,     x,         y,         2 * x,         x + 1,
                      x * x, x * y, max(x, y), min(x, y), ir::mod(x, 2), floor_div(x, 2)};
  for (const Dim& a : dims) {
    for (const Dim& b : dims) {
      if (&a == &b) continue;
      INFO(a << " and " << b);
      CHECK_FALSE(a == b);
      CHECK((a.compare(b) < 0) == (b.compare(a) > 0));
    }
  }
}

TEST_CASE("dim: fresh symbols of one name are different symbols") {
  const Dim a = Dim::fresh("n"), b = Dim::fresh("n");
  CHECK(a == a);
  CHECK_FALSE(a == b);
  CHECK(equal(a, b) == Ternary::Unknown);
  CHECK(a.as_symbol()->name == "n");
  CHECK_FALSE((a + 1).as_symbol());
  CHECK_FALSE((2 * a).as_symbol());
  CHECK_FALSE(Dim(3).as_symbol());
}

TEST_CASE("dim: prints as it is written") {
  CHECK(Dim(-4).to_string() == "-4");
  CHECK((2 * x + 1).to_string() == "2*x+1");
  CHECK((x - 1).to_string() == "x-1");
  CHECK((-x).to_string() == "-x");
  CHECK((y - 3 * x).to_string() == "-3*x+y");
  CHECK((x * y).to_string() == "x*y");
  CHECK(floor_div(x, 2).to_string() == "floordiv(x,2)");
  CHECK(ir::mod(x + 1, 2).to_string() == "mod(x+1,2)");
  CHECK(max(x, y).to_string() == "max(x,y)");
  CHECK(to_string({x, 784}) == "[x,784]");
  CHECK(to_string({}) == "[]");
}

TEST_CASE("dim: division rounds toward minus infinity") {
  CHECK(floor_div(7, 2).value() == 3);
  CHECK(floor_div(-7, 2).value() == -4);
  CHECK(floor_div(7, -2).value() == -4);
  CHECK(floor_div(-8, 2).value() == -4);
  CHECK(ir::mod(7, 3).value() == 1);
  CHECK(ir::mod(-7, 3).value() == 2);
  CHECK(ir::mod(6, 3).value() == 0);
  CHECK(ceil_div(7, 2).value() == 4);
  CHECK(ceil_div(8, 2).value() == 4);
  CHECK(ceil_div(0, 5).value() == 0);
}

TEST_CASE("dim: exact quotients leave no division") {
  CHECK(floor_div(6 * x, 2) == 3 * x);
  CHECK(floor_div(6 * x + 4, 2) == 3 * x + 2);
  CHECK(floor_div(x * y, x) == y);
  CHECK(floor_div(2 * x * y + 4 * x, 2 * x) == y + 2);
  CHECK(floor_div(x * x, x) == x);
  CHECK(floor_div(x + y, x + y) == Dim(1));
  CHECK(floor_div(x, -1) == -x);
  CHECK(floor_div(x * y, -x) == -y);
  CHECK(ir::mod(6 * x, 3) == Dim(0));
  CHECK(ir::mod(x + y, x + y) == Dim(0));
  CHECK(ceil_div(x, 1) == x);
  CHECK_FALSE(floor_div(2 * x + 1, 2).is_static());
  CHECK(floor_div(2 * x + 1, 2).to_string() == "floordiv(2*x+1,2)");
  CHECK(floor_div(x + y, x).to_string() == "floordiv(x+y,x)");
}

TEST_CASE("dim: max and min fold where the signs of terms decide") {
  CHECK(max(x, x) == x);
  CHECK(max(x, x + 1) == x + 1);
  CHECK(min(x, x + 1) == x);
  CHECK(max(x, 0) == x);
  CHECK(min(x, 0) == Dim(0));
  CHECK(max(3, 5).value() == 5);
  CHECK(max(x - 1, 0).to_string() == "max(0,x-1)");
}

TEST_CASE("dim: comparisons answer yes, no or unknown") {
  CHECK(ir::equal(2, 2) == Ternary::Yes);
  CHECK(ir::equal(2, 3) == Ternary::No);
  CHECK(ir::equal(x, x + 1) == Ternary::No);
  CHECK(ir::equal(x + 2, 1) == Ternary::No);
  CHECK(ir::equal(x, 3) == Ternary::Unknown);
  CHECK(ir::equal(x, y) == Ternary::Unknown);
  CHECK(ir::less_equal(0, x) == Ternary::Yes);
  CHECK(ir::less_equal(x, x + y) == Ternary::Yes);
  CHECK(ir::less_equal(x + 1, x) == Ternary::No);
  CHECK(ir::less_equal(x, 5) == Ternary::Unknown);
  CHECK(ir::less_equal(1, x) == Ternary::Unknown);
  CHECK(ir::less_equal(0, ir::mod(x - 5, 3)) == Ternary::Yes);
  CHECK(ir::less_equal(0, max(x - 5, 0)) == Ternary::Yes);
  CHECK(ir::less_equal(0, floor_div(x, 2)) == Ternary::Yes);
  CHECK(ir::less_equal(0, min(x, y - 1)) == Ternary::Unknown);
  CHECK(ir::less_equal(kMin, kMax) == Ternary::Yes);
  CHECK(ir::less_equal(kMax, kMin) == Ternary::No);
}

TEST_CASE("dim: evaluate agrees with arithmetic on integers") {
  const Dim dims[] = {x * y + 2 * x - 3, floor_div(x - 5, 2), ir::mod(x - 5, 3),
                      max(x, y),         min(x * x, y + 1),   floor_div(x + y, x + 1) * 4};
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      const SymbolValues at = values({{"x", i}, {"y", j}});
      CHECK(evaluate(dims[0], at) == i * j + 2 * i - 3);
      CHECK(evaluate(dims[1], at) == floor_div(i - 5, 2).value());
      CHECK(evaluate(dims[2], at) == ((i - 5) % 3 + 3) % 3);
      CHECK(evaluate(dims[3], at) == std::max(i, j));
      CHECK(evaluate(dims[4], at) == std::min(i * i, j + 1));
      CHECK(evaluate(dims[5], at) == (i + j) / (i + 1) * 4);
    }
  }
}

TEST_CASE("dim: substitute rebuilds the canonical form") {
  const auto replace = [](Dim by) {
    return [by](const Symbol& symbol) -> std::optional<Dim> {
      if (symbol.name != "x") return std::nullopt;
      return by;
    };
  };
  CHECK(substitute(x + y, replace(y)) == 2 * y);
  CHECK(substitute(x * x, replace(z + 1)) == z * z + 2 * z + 1);
  CHECK(substitute(floor_div(x, 2), replace(7)) == Dim(3));
  CHECK(substitute(floor_div(x, 2), replace(2 * y)) == y);
  CHECK(substitute(ir::mod(x, 4), replace(8 * z)) == Dim(0));
  CHECK(substitute(max(x, 3), replace(9)) == Dim(9));
  CHECK(substitute(y, replace(5)) == y);
}

TEST_CASE("dim: a compiled program gives the values of evaluate") {
  const std::vector<Symbol> symbols{{2, "y"}, {1, "x"}};
  Dim nested = x;  // deeper than the inline stack
  for (int i = 0; i < 20; ++i) nested = floor_div(x * 3, nested + y);
  const std::vector<Dim> dims{0,
                              7,
                              x,
                              x * y - 3,
                              floor_div(x + 5, y),
                              ir::mod(-x, y),
                              max(x, y),
                              min(x, 2 * y),
                              x * x * y,
                              nested,
                              ceil_div(x * y + 1, 4)};
  for (const Dim& dim : dims) {
    INFO(dim.to_string());
    const DimEvaluator program(dim, symbols);
    CHECK(program.is_bound());
    for (std::int64_t a : {1, 2, 9}) {
      for (std::int64_t b : {1, 4}) {
        CHECK(program(std::vector{b, a}) == evaluate(dim, values({{"x", a}, {"y", b}})));
      }
    }
  }
  CHECK_FALSE(DimEvaluator(x + max(z, 1), symbols).is_bound());
  CHECK(DimEvaluator()({}) == 0);
  const std::vector<std::int64_t> by_zero{0, 1};
  CHECK(error_text<ValueError>([&] { DimEvaluator(floor_div(x, y), symbols)(by_zero); }) ==
        "a dimension is divided by zero");
  const std::vector<std::int64_t> largest{0, kMax};
  CHECK(error_text<ValueError>([&] { DimEvaluator(x * x, symbols)(largest); }) ==
        "a dimension does not fit in 64 bits");
}

TEST_CASE("dim: a product with a factor 0 is 0, whatever the others") {
  CHECK(product({kMax, kMax, 0}) == Dim(0));
  const Dim dim = 5 + 3 * x * y * z * x - y;
  const DimEvaluator program(dim, std::vector{*x.as_symbol(), *y.as_symbol(), *z.as_symbol()});
  const std::int64_t large = std::int64_t{1} << 62;
  for (const auto& [a, b, c] : {std::array{std::int64_t{0}, large, large},
                                {large, 0, large},
                                {large, large, 0},
                                {0, 0, large},
                                {0, 0, 0}}) {
    INFO(a << ", " << b << ", " << c);
    CHECK(program(std::vector{a, b, c}) == 5 - b);
    CHECK(evaluate(dim, values({{"x", a}, {"y", b}, {"z", c}})) == 5 - b);
  }
  const std::vector<std::int64_t> ones_and_large{large, 1, 4};
  CHECK(error_text<ValueError>([&] { program(ones_and_large); }) ==
        "a dimension does not fit in 64 bits");
  CHECK(product({0, x, kMax, kMax}) == Dim(0));
}

TEST_CASE("dim: solve finds the one unknown of a linear dim") {
  CHECK(solve(2 * x + 1, 7, values({}))->second == 3);
  CHECK(solve(x * y, 12, values({{"y", 4}}))->second == 3);
  CHECK(solve(5 - x, 2, values({}))->second == 3);
  CHECK_FALSE(solve(2 * x + 1, 8, values({})));
  CHECK_FALSE(solve(x + y, 8, values({})));
  CHECK_FALSE(solve(x * x, 4, values({})));
  CHECK_FALSE(solve(x * (x - 1) * (x - 2) + x, 3, values({})));
  CHECK_FALSE(solve(floor_div(x, 2), 4, values({})));
  CHECK_FALSE(solve(x * y, 12, values({{"y", 0}})));
  CHECK_FALSE(solve(x, 4, values({{"x", 4}})));
}

TEST_CASE("dim: every symbol is visited, in the order of first occurrence") {
  std::string seen;
  for_each_symbol(floor_div(x + y, z) * y + max(x, 1), [&](const Symbol& s) { seen += s.name; });
  std::sort(seen.begin(), seen.end());
  CHECK(seen == "xxyyz");
  seen.clear();
  const Dim shared = max(z - 1, y);
  for_each_symbol(floor_div(shared + x, shared), [&](const Symbol& s) { seen += s.name; });
  CHECK(seen == "xyz");
}

TEST_CASE("dim: remainders of the most negative number") {
  for (const std::int64_t by : {std::int64_t{2}, std::int64_t{3}, std::int64_t{-3}, kMax, kMin}) {
    const std::int64_t rest = kMin % by;  // of the sign of kMin
    INFO(by);
    CHECK(evaluate(DimOp::Mod, kMin, by) == (rest != 0 && by > 0 ? rest + by : rest));
  }
  CHECK(evaluate(DimOp::Mod, kMin, -1) == 0);
}

TEST_CASE("dim: no symbol is solved as a negative number") {
  CHECK_FALSE(solve(8 - x, 10, values({})));
  CHECK(solve(8 - x, 8, values({}))->second == 0);
}

TEST_CASE("dim: 64-bit overflow is an error") {
  const std::string overflow = "a dimension does not fit in 64 bits";
  CHECK(error_text<ValueError>([] { Dim(kMax) + 1; }) == overflow);
  CHECK(error_text<ValueError>([] { Dim(kMin) - 1; }) == overflow);
  CHECK(error_text<ValueError>([] { Dim(kMax) * 2; }) == overflow);
  CHECK(error_text<ValueError>([] { -Dim(kMin); }) == overflow);
  CHECK(error_text<ValueError>([] { floor_div(kMin, -1); }) == overflow);
  CHECK(error_text<ValueError>([] { ir::mod(kMin, -1); }) == overflow);
  CHECK(error_text<ValueError>([] { (x + kMax) + 1; }) == overflow);
  CHECK(error_text<ValueError>([] { x* kMax * 2; }) == overflow);
  CHECK(error_text<ValueError>([] { evaluate(x * x, values({{"x", kMax}})); }) == overflow);
  CHECK(error_text<ValueError>([] { evaluate(x + kMax, values({{"x", 1}})); }) == overflow);
  CHECK(error_text<ValueError>([] { solve(kMax * x - 2, 3, values({})); }) == "no error");
}

TEST_CASE("dim: division by zero and unbound symbols are errors by name") {
  CHECK(error_text<ValueError>([] { floor_div(x, 0); }) == "a dimension is divided by zero");
  CHECK(error_text<ValueError>([] { ir::mod(3, 0); }) == "a dimension is divided by zero");
  CHECK(error_text<ValueError>([] { evaluate(floor_div(x, y), values({{"x", 1}, {"y", 0}})); }) ==
        "a dimension is divided by zero");
  CHECK(error_text<ValueError>([] { evaluate(x + y, values({{"x", 1}})); }) ==
        "dim y has no value");
}
