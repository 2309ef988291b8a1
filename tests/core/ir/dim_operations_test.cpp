// Tests divisions, maxima and minima of dims as parts of larger dims: simplification, sharing,
// texts and limits.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/core/ir/dim_symbols.h"

#include "tests/support/deep.h"

#include "core/ir/dim_evaluator.h"
#include "core/types/escaped_text.h"

#include <kiln/error.h>

#include <algorithm>
#include <random>

using namespace kiln;
using namespace kiln::ir;
using namespace kiln::test;
using kiln::testing::error_text;

TEST_CASE("dim: the sizes of slices, of slices of slices and of strides are simple") {
  /// slice(start, stop) of a vector as core/k has it.
  const auto sliced = [](const Dim& size, std::optional<int> start, std::optional<int> stop) {
    const auto bound = [&](int i) { return i < 0 ? max(size + i, 0) : min(Dim(i), size); };
    const Dim first = start ? bound(*start) : Dim(0), last = stop ? bound(*stop) : size;
    return simplified(max(first, last) - first);
  };
  const std::nullopt_t end = std::nullopt;
  const std::pair<Dim, const char*> rows[] = {
      {simplified(x - min(1, x)), "max(0,x-1)"},
      {simplified(x - max(x - 1, 0)), "min(1,x)"},
      {simplified(min(1, x) + max(x - 1, 0)), "x"},
      {simplified(x - min(1, x) - max(x - 1, 0)), "0"},
      {simplified(3 * min(x, y) + 2 * z - 3 * min(y, x)), "2*z"},
      {simplified(2 * max(x, 5) + 1), "2*max(5,x)+1"},
      {max(max(x - 1, 0) - 1, 0), "max(0,x-2)"},
      {min(min(x, 7), 3), "min(3,x)"},
      {max(min(1, x), x), "x"},
      {sliced(x, 1, end), "max(0,x-1)"},
      {sliced(sliced(x, 1, end), 1, end), "max(0,x-2)"},
      {sliced(sliced(x, end, -1), 1, -3), "max(0,x-5)"},
      {sliced(sliced(x, 1, -1), 1, -1), "max(0,x-4)"},
      {sliced(sliced(x, 2, end), end, 5), "min(5,max(0,x-2))"},
      {sliced(x, -3, end), "min(3,x)"},
      {sliced(x, 5, 3), "0"},
      {ceil_div(ceil_div(x, 2), 3), "floordiv(x+5,6)"},
      {floor_div(floor_div(x - 3, 2) - 2, 2) + 1, "floordiv(x-7,4)+1"},
      {floor_div(floor_div(x, y), 2), "floordiv(floordiv(x,y),2)"},
      {floor_div(floor_div(x, std::int64_t{1} << 30), 4), "floordiv(floordiv(x,1073741824),4)"},
  };
  for (const auto& [dim, expected] : rows) CHECK(dim.to_string() == expected);
  Dim chain = x;
  for (int i = 0; i < 1000; ++i) chain = sliced(chain, 1, end);
  CHECK(chain.to_string() == "max(0,x-1000)");
}

TEST_CASE("dim: random expressions have the values of their operands") {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  std::vector<std::vector<std::int64_t>> points;
  for (int i = 0; i < 8; ++i) {
    points.push_back(
        {static_cast<int>(below(6)), static_cast<int>(below(6)), static_cast<int>(below(6))});
  }
  const auto values_at_points = [&](const Dim& dim) {
    std::vector<std::int64_t> all;
    for (const auto& point : points) {
      all.push_back(evaluate(dim, values({{"x", point[0]}, {"y", point[1]}, {"z", point[2]}})));
    }
    return all;
  };
  const auto renamed = [](const Dim& dim, std::int64_t by) {
    return substitute(dim, [by](const Symbol& symbol) {
      return std::optional(Dim::of({symbol.id + by, symbol.name}));
    });
  };
  const std::vector<Symbol> symbols{{1, "x"}, {2, "y"}, {3, "z"}};
  for (int program = 0; program < 1000; ++program) {
    std::vector<Dim> dims{x, y, z, 0, 1, 2, 3};
    for (int step = 0; step < 8; ++step) {
      const Dim &a = dims[below(dims.size())], &b = dims[below(dims.size())];
      const std::vector<std::int64_t> left = values_at_points(a), right = values_at_points(b);
      const bool divides = b.is_static() && b.value() > 0;
      const std::size_t op = below(divides ? 8 : 6);
      const Dim result = op == 0   ? a + b
                         : op == 1 ? a - b
                         : op == 2 ? max(a, b)
                         : op == 3 ? min(a, b)
                         : op == 4 ? simplified(a - b)
                         : op == 5 ? simplified(a + b)
                         : op == 6 ? floor_div(a, b)
                                   : mod(a, b);
      const std::vector<std::int64_t> found = values_at_points(result);
      const Ternary order = less_equal(a, b);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const std::int64_t l = left[i], r = right[i];
        const std::int64_t quotient = divides ? (l - ((l % r + r) % r)) / r : 0;
        const std::int64_t expected[] = {l + r, l - r, std::max(l, r), std::min(l, r),
                                         l - r, l + r, quotient,       l - quotient * r};
        INFO(a << " and " << b << " by " << op << " is " << result);
        if (found[i] != expected[op]) FAIL(found[i] << " instead of " << expected[op]);
        if (order != Ternary::Unknown && (order == Ternary::Yes) != (l <= r)) FAIL("order");
        if (DimEvaluator(result, symbols)(points[i]) != found[i]) FAIL("program");
      }
      CHECK((renamed(renamed(result, 10), -10) == result));
      dims.push_back(result);
    }
  }
}

TEST_CASE("dim: operations are shared: a tree of 2^1000 takes no time, stack or text") {
  const auto deep = [](int depth) {
    Dim dim = x;
    for (int i = 0; i < depth; ++i) dim = floor_div(dim * y + 3 * dim + i, 7);
    return dim;
  };
  CHECK(test::error_on_small_stack([&] {
          Dim one = deep(1000), two = deep(1000), other = deep(999);
          CHECK((one == two));
          CHECK(one.hash() == two.hash());
          CHECK_FALSE((one == other));
          CHECK(one.compare(other) == -other.compare(one));
          CHECK((one - two).is_static());
          CHECK(operations_of(one).size() == 1000);
          std::string seen;
          for_each_symbol(one, [&](const Symbol& symbol) { seen += symbol.name; });
          CHECK(seen.size() == 1002);
          CHECK((substitute(one, [](const Symbol& symbol) {
                   return symbol.name == "x" ? std::optional<Dim>(z) : std::nullopt;
                 }) == substitute(two, [](const Symbol& symbol) {
                   return symbol.name == "x" ? std::optional<Dim>(z) : std::nullopt;
                 })));
          const std::int64_t value = evaluate(one, values({{"x", 900}, {"y", 4}}));
          CHECK(DimEvaluator(one, std::vector<Symbol>{{1, "x"}, {2, "y"}})(
                    std::vector<std::int64_t>{900, 4}) == value);
          std::int64_t expected = 900;
          for (int i = 0; i < 1000; ++i) expected = (expected * 4 + 3 * expected + i) / 7;
          CHECK(value == expected);
          const std::string text = one.to_string();
          CHECK(text.size() == kMaxDimText);
          CHECK(text.substr(0, 20) == "floordiv(y*floordiv(");
          CHECK(text.substr(text.size() - 3) == "...");
        }) == "");
}

TEST_CASE("dim: long texts end within no character") {
  for (int length = 150; length < 170; ++length) {
    const std::string name =
        std::string(static_cast<std::size_t>(length), 'n') + "\xc3\xa4\xc3\xa4";
    const std::string text = (Dim::of({9, name}) + 1).to_string();
    INFO(text);
    CHECK(text.size() <= kMaxDimText);
    CHECK(is_utf8(text));
  }
}

TEST_CASE("dim: limits are errors") {
  Dim deepest = x;
  for (std::size_t i = 0; i < kMaxDimDepth; ++i) deepest = floor_div(3 * deepest, 2);
  CHECK(error_text<ValueError>([&] { floor_div(3 * deepest, 2); }) ==
        "a dimension nests more than 1024 divisions, remainders, maxima and minima");
  Dim power = 1;
  for (std::size_t i = 0; i < kMaxDimFactors; ++i) power = power * x;
  CHECK(error_text<ValueError>([&] { power* x; }) ==
        "a dimension is a product of more than 64 sizes");
  Dims symbols;
  for (int i = 0; i < 257; ++i) symbols.push_back(Dim::fresh("n"));
  const Dim sum = total(symbols);
  CHECK(sum.expr()->terms.size() == 257);
  CHECK((sum - total(Dims(symbols.begin() + 1, symbols.end())) == symbols[0]));
  CHECK(error_text<ValueError>([&] { sum* sum; }) ==
        "a dimension is a sum of more than 65536 terms");
}
