// Tests where, floor, ceil and mod (kiln/elementwise.h). Expected values are those of NumPy 2.4's
// functions of these names, or of a loop over C's.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

/// Whether each element is negative or -0: the reciprocal of a zero tells its sign.
Tensor is_negative(const Tensor& x) { return where(equal(x, 0), 1 / x, x) < 0; }

const Array& halves_and_specials() {
  static const Array array = f32({9}, {-0.5, -0.0f, 0.5, 1e30f, kInf, -kInf, kNaN, -1.5, 2});
  return array;
}

}  // namespace

std::vector<Row> selection_rows() {
  return {
      {"where",
       {bools({3}, {true, false, true}), f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})},
       [](const Tensors& x) { return where(x[0], x[1], x[2]); },
       f32({3}, {1, 5, 3})},
      {"where all three broadcast",
       {bools({2, 1}, {true, false}), f32({3}, {1, 2, 3}), f32({2, 1, 1}, {8, 9})},
       [](const Tensors& x) { return where(x[0], x[1], x[2]); },
       f32({2, 2, 3}, {1, 2, 3, 8, 8, 8, 1, 2, 3, 9, 9, 9})},
      {"where numbers",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return where(x[0], 1, -0.5); },
       f32({2}, {1, -0.5})},
      {"where a number is the condition",
       {i32({2}, {3, 4})},
       [](const Tensors& x) { return where(true, x[0], 7); },
       i32({2}, {3, 4})},
      {"where bools",
       {bools({2}, {true, false}), bools({2}, {false, false})},
       [](const Tensors& x) { return where(x[0], x[1], true); },
       bools({2}, {false, true})},
      {"where integers at the ends",
       {bools({2}, {true, false}), i64({2}, {INT64_MAX, 0}), i64({2}, {0, INT64_MIN})},
       [](const Tensors& x) { return where(x[0], x[1], x[2]); },
       i64({2}, {INT64_MAX, INT64_MIN})},
      {"where nothing",
       {bools({0, 1}, {}), none({3})},
       [](const Tensors& x) { return where(x[0], x[1], 0); },
       none({0, 3})},
      {"where does not take NaN from the other side",
       {bools({4}, {true, false, true, false}), f32({4}, {1, kNaN, -kInf, kInf}),
        f32({4}, {kNaN, 2, kNaN, -0.0f})},
       [](const Tensors& x) { return where(x[0], x[1], x[2]); },
       f32({4}, {1, 2, -kInf, 0})},
      {"where gradient to x",
       {bools({2, 2}, {true, false, false, true}), f32({2}, {kNaN, 2}), f32({2, 2}, {3, 4, 5, 6})},
       [](const Tensors& x) { return slope(3 * where(x[0], x[1], x[2]), x[1]); },
       f32({2}, {3, 3})},
      {"where gradient to y",
       {bools({2, 2}, {true, false, false, true}), f32({2}, {kNaN, kInf}),
        f32({2, 2}, {kNaN, 4, 5, kInf})},
       [](const Tensors& x) { return slope(square(where(x[0], x[1], x[2])), x[2]); },
       f32({2, 2}, {0, 8, 10, 0})},
      {"floor",
       {halves_and_specials()},
       [](const Tensors& x) { return floor(x[0]); },
       f32({9}, {-1, 0, 0, 1e30f, kInf, -kInf, kNaN, -2, 2})},
      {"floor signs of zeros",
       {f32({3}, {-0.0f, 0, 0.5})},
       [](const Tensors& x) { return is_negative(floor(x[0])); },
       bools({3}, {true, false, false})},
      {"floor int64",
       {i64({2}, {INT64_MAX, INT64_MIN})},
       [](const Tensors& x) { return floor(x[0]); },
       i64({2}, {INT64_MAX, INT64_MIN})},
      {"floor of nothing",
       {none({0, 1})},
       [](const Tensors& x) { return floor(x[0]); },
       none({0, 1})},
      {"ceil",
       {halves_and_specials()},
       [](const Tensors& x) { return ceil(x[0]); },
       f32({9}, {0, 0, 1, 1e30f, kInf, -kInf, kNaN, -1, 2})},
      {"ceil signs of zeros",
       {f32({3}, {-0.0f, 0, -0.5})},
       [](const Tensors& x) { return is_negative(ceil(x[0])); },
       bools({3}, {true, false, true})},
      {"ceil uint8",
       {i32({2}, {0, 255})},
       [](const Tensors& x) { return ceil(cast(x[0], "uint8")); },
       Array{0, 255}.astype(DType::UInt8)},
      {"mod",
       {f32({10}, {7, -7, 7, -7, 6, -6, 0, -0.0f, 5.5, -5.5}),
        f32({10}, {3, 3, -3, -3, 3, -3, -2, 2, kInf, kInf})},
       [](const Tensors& x) { return mod(x[0], x[1]); },
       f32({10}, {1, 2, -2, -1, 0, 0, 0, 0, 5.5, kInf})},
      {"mod signs of zeros are those of y",
       {f32({6}, {6, -6, -6, 0, -0.0f, 0}), f32({6}, {-3, 3, -3, -2, 2, kInf})},
       [](const Tensors& x) { return is_negative(mod(x[0], x[1])); },
       bools({6}, {true, false, true, true, false, false})},
      {"mod zero, infinities and NaN",
       {f32({8}, {1, 0, kInf, kNaN, 1, -1, 1, 1}),
        f32({8}, {0, 0, 2, 2, kNaN, -kInf, -kInf, -0.0f})},
       [](const Tensors& x) { return mod(x[0], x[1]); },
       f32({8}, {kNaN, kNaN, kNaN, kNaN, kNaN, -1, -kInf, kNaN})},
      {"mod int32",
       {i32({9}, {7, -7, 7, -7, 6, 5, -5, INT32_MIN, INT32_MAX}),
        i32({9}, {3, 3, -3, -3, -3, 0, 0, -1, INT32_MIN})},
       [](const Tensors& x) { return mod(x[0], x[1]); },
       i32({9}, {1, 2, -2, -1, 0, 0, 0, 0, -1})},
      {"mod int64 beyond double",
       {i64({2}, {INT64_MIN, INT64_MAX}), i64({1}, {INT64_MAX})},
       [](const Tensors& x) { return mod(x[0], x[1]); },
       i64({2}, {INT64_MAX - 1, 0})},
      {"mod uint8",
       {i32({3}, {255, 200, 7})},
       [](const Tensors& x) { return mod(cast(x[0], "uint8"), 100); },
       Array{55, 0, 7}.astype(DType::UInt8)},
      {"mod of a number",
       {f32({2, 1}, {4, -4})},
       [](const Tensors& x) { return mod(-5.5, x[0]); },
       f32({2, 1}, {2.5, -1.5})},
      {"mod float16",
       {f32({3}, {7, -7, 6})},
       [](const Tensors& x) { return cast(mod(cast(x[0], "float16"), 3), "float32"); },
       f32({3}, {1, 2, 0})},
      {"mod of nothing",
       {none({0, 2}), none({1, 2})},
       [](const Tensors& x) { return mod(x[0], x[1]); },
       none({0, 2})},
      {"mod gradient to x, also at multiples",
       {f32({4}, {7, -7, 6, -6}), f32({4}, {3, 3, -3, 3})},
       [](const Tensors& x) { return slope(mod(x[0], x[1]), x[0]); },
       f32({4}, {1, 1, 1, 1})},
      {"mod gradient to y",
       {f32({4}, {7, -7, 7, 6}), f32({4}, {3, 3, -3, 3})},
       [](const Tensors& x) { return slope(mod(x[0], x[1]), x[1]); },
       f32({4}, {-2, 3, 3, -2})},
  };
}

namespace {

const SmoothRow kSelectionGradients[] = {
    {"where",
     {{2, 3}, {3}, {2, 1}},
     [](const Tensors& x) { return where(x[0] > 0, square(x[1]), sin(x[2])); }},
    {"mod", {{5}}, [](const Tensors& x) { return square(mod(x[0] + 7.5, 100)); }},
};

const std::vector<Misuse> kSelectionErrors = {
    {throws<TypeError>(), [] { return where(of({2}), 1, 2); },
     "where: condition is not bool; not_equal(condition, 0) tells where it is not 0 (condition "
     "float32[2])"},
    {throws<TypeError>(), [] { return where(2, of({2}), 0); },
     "where: condition 2 is not 0 or 1, as dtype bool requires"},
    {throws<TypeError>(), [] { return where(of({2}, "bool"), of({2}), of({2}, "int32")); },
     "where: x has dtype float32 but y has dtype int32 (x float32[2], y int32[2])"},
    {throws<TypeError>(), [] { return where(of({2}, "bool"), of({2}, "int32"), 0.5); },
     "where: y 0.5 is floating point but the dtype is int32: write cast(x, \"float32\") or an "
     "integer"},
    {throws<ValueError>(), [] { return where(of({2}, "bool"), of({2}), of({3})); },
     "where: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], y float32[3])"},
    {throws<ValueError>(), [] { return where(of({4}, "bool"), of({3}), of({2, 3})); },
     "where: shapes do not broadcast: sizes 4 and 3 of axis -1 (condition bool[4], x and y "
     "float32[2,3])"},
    {throws<ValueError>(), [] { return where(of({2}, "bool"), Tensor(), 0); },
     "where: x is an empty tensor"},
    {throws<TypeError>(), [] { return floor(of({2}, "bool")); },
     "floor: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return ceil(of({2}, "bool")); },
     "ceil: x is bool, not a number (x bool[2])"},
    {throws<TypeError>(), [] { return mod(of({2}, "int32"), 1.5); },
     "mod: y 1.5 is floating point but the dtype is int32: write cast(x, \"float32\") or an "
     "integer"},
    {throws<TypeError>(), [] { return mod(of({2}, "bool"), of({2}, "bool")); },
     "mod: x is bool, not a number (x bool[2], y bool[2])"},
    {throws<ValueError>(), [] { return mod(of({2}), of({3})); },
     "mod: shapes do not broadcast: sizes 2 and 3 of axis -1 (x float32[2], y float32[3])"},
};

}  // namespace

TEST_CASE("where, floor, ceil and mod", "[k]") { run(selection_rows()); }

TEST_CASE("where and mod: gradients", "[k]") {
  for (const SmoothRow& row : kSelectionGradients) run(row);
}

TEST_CASE("where, floor, ceil and mod: misuse", "[k]") { run(kSelectionErrors); }

TEST_CASE("floor and ceil: no gradient", "[k]") {
  const Tensor x = of({3});
  CHECK(gradients(sum(floor(x)), {x})[0].empty());
  CHECK(gradients(sum(ceil(x)), {x})[0].empty());
}

TEST_CASE("floor, ceil and mod: a loop over C's functions", "[k]") {
  std::vector<double> a, b;
  for (int i = -40; i <= 40; ++i) {
    for (const double divisor : {-7.25, -2., -0.3, 0.1, 1., 3.5}) {
      a.push_back(i * 0.37);
      b.push_back(divisor);
    }
  }
  const auto n = static_cast<std::int64_t>(a.size());
  const Tensor x = of({n}, "float64"), y = of({n}, "float64");
  const std::vector<Array> got = evaluate({x, y}, {floor(x), ceil(x), mod(x, y)}, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i] << " and " << b[i]);
    double remainder = std::fmod(a[i], b[i]);
    if (remainder != 0 && (remainder < 0) != (b[i] < 0)) remainder += b[i];
    CHECK(got[0].as<double>()[i] == std::floor(a[i]));
    CHECK(got[1].as<double>()[i] == std::ceil(a[i]));
    CHECK(got[2].as<double>()[i] == Approx(remainder));
  }
}

}  // namespace kiln::test
