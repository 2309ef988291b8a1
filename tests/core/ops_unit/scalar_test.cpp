// Tests the scalar meaning of elementwise ops where the semantics in core/ops/op.h decide: ends of
// integer ranges at every width, division by zero, NaN, infinities and signed zeros.
#include "tests/support/catch.h"

#include "tests/core/ops_unit/build_graph.h"

#include "core/ops/convert.h"
#include "core/types/half.h"

#include <cmath>
#include <limits>

using namespace kiln;
using namespace kiln::ir;

namespace {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::Float32;
  if constexpr (std::is_same_v<T, double>) return DType::Float64;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::Int8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::Int16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::Int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::Int64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::UInt8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::UInt16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::UInt32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::UInt64;
}

template <class R, class T>
R apply(Op op, DType result_dtype, const std::vector<T>& x) {
  std::vector<const std::byte*> operands;
  for (const T& value : x) operands.push_back(reinterpret_cast<const std::byte*>(&value));
  R result{};
  apply_scalar(def(op), dtype_of<T>(), result_dtype, operands,
               reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

template <class T>
T run(Op op, T x) {
  return apply<T, T>(op, dtype_of<T>(), {x});
}
template <class T>
T run(Op op, T x, T y) {
  return apply<T, T>(op, dtype_of<T>(), {x, y});
}
template <class T>
bool test(Op op, T x, T y) {
  const auto byte = apply<std::uint8_t, T>(op, DType::Bool, {x, y});
  REQUIRE(byte <= 1);
  return byte == 1;
}

bool is_minus_zero(double x) { return x == 0 && std::signbit(x); }
bool is_plus_zero(double x) { return x == 0 && !std::signbit(x); }

}  // namespace

TEMPLATE_TEST_CASE("scalar ops: signed integers wrap, no traps", "", std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t) {
  using T = TestType;
  constexpr T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  constexpr T one = 1, minus = -1, zero = 0, two = 2, three = 3;
  CHECK(run<T>(Op::Neg, min) == min);
  CHECK(run<T>(Op::Neg, max) == T(-max));
  CHECK(run<T>(Op::Abs, min) == min);
  CHECK(run<T>(Op::Abs, minus) == one);
  CHECK(run<T>(Op::Sign, min) == minus);
  CHECK(run<T>(Op::Sign, zero) == zero);
  CHECK(run<T>(Op::Add, max, one) == min);
  CHECK(run<T>(Op::Sub, min, one) == max);
  CHECK(run<T>(Op::Mul, max, two) == T(-2));
  CHECK(run<T>(Op::Mul, min, minus) == min);
  CHECK(run<T>(Op::Div, min, minus) == min);
  CHECK(run<T>(Op::Div, T(-7), two) == T(-3));
  CHECK(run<T>(Op::Div, T(7), T(-2)) == T(-3));
  CHECK(run<T>(Op::Div, max, zero) == zero);
  CHECK(run<T>(Op::Mod, min, minus) == zero);
  CHECK(run<T>(Op::Mod, T(-7), three) == minus);
  CHECK(run<T>(Op::Mod, T(7), T(-3)) == one);
  CHECK(run<T>(Op::Mod, T(7), zero) == zero);
  CHECK(run<T>(Op::Pow, zero, zero) == one);
  CHECK(run<T>(Op::Pow, T(-2), three) == T(-8));
  CHECK(run<T>(Op::Pow, two, T(std::numeric_limits<T>::digits)) == min);
  CHECK(run<T>(Op::Pow, two, T(std::numeric_limits<T>::digits + 1)) == zero);
  CHECK(run<T>(Op::Pow, two, minus) == zero);
  CHECK(run<T>(Op::Pow, zero, minus) == zero);
  CHECK(run<T>(Op::Pow, one, min) == one);
  CHECK(run<T>(Op::Pow, minus, min) == one);
  CHECK(run<T>(Op::Pow, minus, T(-3)) == minus);
  CHECK(run<T>(Op::Maximum, min, max) == max);
  CHECK(run<T>(Op::Minimum, minus, one) == minus);
  CHECK(run<T>(Op::BitAnd, minus, min) == min);
  CHECK(run<T>(Op::BitAnd, T(-4), T(6)) == T(4));
  CHECK(run<T>(Op::BitOr, min, max) == minus);
  CHECK(run<T>(Op::BitXor, minus, min) == max);
  CHECK(run<T>(Op::BitXor, T(-4), T(6)) == T(-6));
  CHECK(test<T>(Op::Less, min, max));
  CHECK_FALSE(test<T>(Op::Less, max, min));
  CHECK(test<T>(Op::LessEqual, min, min));
  CHECK(test<T>(Op::Equal, minus, minus));
}

TEMPLATE_TEST_CASE("scalar ops: unsigned integers wrap, no traps", "", std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  using T = TestType;
  constexpr T max = std::numeric_limits<T>::max();
  constexpr T zero = 0, one = 1, two = 2;
  CHECK(run<T>(Op::Neg, one) == max);
  CHECK(run<T>(Op::Abs, max) == max);
  CHECK(run<T>(Op::Sign, max) == one);
  CHECK(run<T>(Op::Add, max, two) == one);
  CHECK(run<T>(Op::Sub, zero, one) == max);
  CHECK(run<T>(Op::Mul, max, max) == one);
  CHECK(run<T>(Op::Div, max, zero) == zero);
  CHECK(run<T>(Op::Div, max, max) == one);
  CHECK(run<T>(Op::Mod, max, zero) == zero);
  CHECK(run<T>(Op::Mod, max, two) == one);
  CHECK(run<T>(Op::Pow, max, two) == one);
  CHECK(run<T>(Op::Pow, one, max) == one);
  CHECK(run<T>(Op::Pow, two, max) == zero);
  CHECK(run<T>(Op::Maximum, zero, max) == max);
  CHECK(run<T>(Op::Minimum, zero, max) == zero);
  CHECK(run<T>(Op::BitAnd, max, two) == two);
  CHECK(run<T>(Op::BitOr, one, two) == T(3));
  CHECK(run<T>(Op::BitXor, max, one) == T(max - 1));
  CHECK(test<T>(Op::Less, zero, max));
  CHECK_FALSE(test<T>(Op::LessEqual, max, zero));
}

TEMPLATE_TEST_CASE("scalar ops: floats at zeros, infinities and NaN", "", float, double) {
  using T = TestType;
  const T inf = static_cast<T>(kInf), nan = static_cast<T>(kNaN), zero = 0, minus = -zero;
  CHECK(is_minus_zero(run<T>(Op::Sign, minus)));
  CHECK(std::isnan(run<T>(Op::Sign, nan)));
  CHECK(run<T>(Op::Sign, -inf) == -1);
  CHECK(is_plus_zero(run<T>(Op::Maximum, minus, zero)));
  CHECK(is_plus_zero(run<T>(Op::Maximum, zero, minus)));
  CHECK(is_minus_zero(run<T>(Op::Minimum, minus, zero)));
  CHECK(is_minus_zero(run<T>(Op::Minimum, zero, minus)));
  for (const Op op : {Op::Maximum, Op::Minimum, Op::Add, Op::Mul, Op::Div}) {
    CHECK(std::isnan(run<T>(op, nan, T(1))));
    CHECK(std::isnan(run<T>(op, T(1), nan)));
  }
  CHECK(run<T>(Op::Maximum, inf, -inf) == inf);
  CHECK(run<T>(Op::Div, T(1), minus) == -inf);
  CHECK(std::isnan(run<T>(Op::Div, zero, zero)));
  CHECK(std::isnan(run<T>(Op::Mod, T(1), zero)));
  CHECK(run<T>(Op::Mod, T(-7.5), T(2)) == T(-1.5));
  CHECK(run<T>(Op::Mod, T(7.5), T(-2)) == T(1.5));
  CHECK(run<T>(Op::Pow, nan, zero) == 1);
  CHECK(run<T>(Op::Pow, zero, T(-1)) == inf);
  CHECK(std::isnan(run<T>(Op::Pow, T(-8), T(0.5))));
  CHECK(test<T>(Op::Equal, zero, minus));
  CHECK_FALSE(test<T>(Op::Less, minus, zero));
  for (const Op op : {Op::Equal, Op::Less, Op::LessEqual}) {
    CHECK_FALSE(test<T>(op, nan, nan));
    CHECK_FALSE(test<T>(op, nan, T(1)));
    CHECK_FALSE(test<T>(op, T(1), nan));
  }
}

TEST_CASE("scalar ops: rounding") {
  const std::pair<double, double> rounded[] = {{0.5, 0},   {1.5, 2},   {2.5, 2},
                                               {-1.5, -2}, {-2.5, -2}, {2.4999, 2}};
  for (const auto& [x, y] : rounded) CHECK(run(Op::Round, x) == y);
  CHECK(is_minus_zero(run(Op::Round, -0.5)));
  CHECK(run(Op::Floor, -0.5) == -1);
  CHECK(run(Op::Floor, kInf) == kInf);
  CHECK(std::isnan(run(Op::Floor, kNaN)));
}

TEST_CASE("scalar ops: functions at the ends of their domains") {
  CHECK(run(Op::Sigmoid, 1000.0) == 1);
  CHECK(run(Op::Sigmoid, -700.0) > 0);
  CHECK(run(Op::Sigmoid, -700.0) == Approx(std::exp(-700.0)));
  CHECK(run(Op::Sigmoid, -kInf) == 0);
  CHECK(run(Op::Sigmoid, kInf) == 1);
  CHECK(std::isnan(run(Op::Sigmoid, kNaN)));
  CHECK(run(Op::Sigmoid, 0.0) == 0.5);
  CHECK(run(Op::Tanh, -kInf) == -1);
  CHECK(run(Op::Erf, -kInf) == -1);
  CHECK(is_minus_zero(run(Op::Erf, -0.0)));
  CHECK(std::isnan(run(Op::Erf, kNaN)));
  CHECK(run(Op::Erf, 1e-20) == Approx(1.1283791670955126e-20).epsilon(1e-15));
  CHECK(run(Op::Atan, kInf) == Approx(1.5707963267948966).epsilon(1e-15));
  CHECK(is_minus_zero(run(Op::Atan, -0.0)));
  CHECK(std::isnan(run(Op::Atan, kNaN)));
  CHECK(run(Op::Erf, 0.5) == Approx(0.52049987781304654).epsilon(1e-15));
  CHECK(run(Op::Exp, -kInf) == 0);
  CHECK(run(Op::Exp, 710.0) == kInf);
  CHECK(run(Op::Expm1, 1e-20) == 1e-20);
  CHECK(run(Op::Log1p, 1e-20) == 1e-20);
  CHECK(run(Op::Log, 0.0) == -kInf);
  CHECK(std::isnan(run(Op::Log, -1.0)));
  CHECK(is_minus_zero(run(Op::Sqrt, -0.0)));
  CHECK(std::isnan(run(Op::Sqrt, -1.0)));
  CHECK(std::isnan(run(Op::Sin, kInf)));
  CHECK(run(Op::Cos, 0.0) == 1);
}

TEST_CASE("scalar ops: results are rounded and flushed when they are stored") {
  CHECK(run(Op::Mul, 1e-30f, 1e-30f) == 0);
  CHECK(is_minus_zero(run(Op::Mul, -1e-20f, 1e-20f)));
  CHECK(run(Op::Add, 5e-324, 5e-324) == 0);
  CHECK(run(Op::Mul, 3e38f, 3e38f) == std::numeric_limits<float>::infinity());
  CHECK(run(Op::Div, 1.0f, 3.0f) == 1.0f / 3.0f);
}

TEST_CASE("scalar ops: an exact op of halves gives a half") {
  int ops = 0;
  for (const OpDef& d : all_ops()) {
    if (!d.exact) continue;
    ++ops;
    INFO(d.name);
    REQUIRE(d.scalar.floating);
    for (const bool is_float16 : {true, false}) {
      const auto value_of = is_float16 ? float16_to_float : bfloat16_to_float;
      const auto nearest = is_float16 ? float16_of_double : bfloat16_of_double;
      for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double x[] = {value_of(static_cast<std::uint16_t>(bits)),
                            value_of(static_cast<std::uint16_t>(bits * 40503)),
                            value_of(static_cast<std::uint16_t>(bits * 30011 + 7))};
        const double* operands[] = {&x[0], &x[1], &x[2]};
        double y = 0;
        d.scalar.floating(operands, &y, 1);
        if (!std::isnan(y) && value_of(nearest(y)) != y) FAIL(x[0] << ", " << x[1] << ": " << y);
      }
    }
  }
  CHECK(ops == 8);
}

TEST_CASE("scalar ops: bools") {
  const auto bools = [](Op op, std::vector<bool> x) {
    const std::vector<std::uint8_t> bytes(x.begin(), x.end());
    std::vector<const std::byte*> operands;
    for (const auto& value : bytes) operands.push_back(reinterpret_cast<const std::byte*>(&value));
    std::uint8_t result = 7;
    apply_scalar(def(op), DType::Bool, DType::Bool, operands, reinterpret_cast<std::byte*>(&result),
                 1);
    REQUIRE(result <= 1);
    return result == 1;
  };
  for (const bool a : {false, true}) {
    CHECK(bools(Op::Not, {a}) == !a);
    for (const bool b : {false, true}) {
      CHECK(bools(Op::And, {a, b}) == (a && b));
      CHECK(bools(Op::Or, {a, b}) == (a || b));
      CHECK(bools(Op::Equal, {a, b}) == (a == b));
      CHECK(bools(Op::Less, {a, b}) == (!a && b));
      for (const bool c : {false, true}) CHECK(bools(Op::Select, {a, b, c}) == (a ? b : c));
    }
  }
}

TEST_CASE("scalar ops: select copies bits, over more than a block") {
  constexpr std::int64_t kCount = 1500;
  std::vector<std::uint8_t> condition(kCount);
  std::vector<double> x(kCount), y(kCount, kNaN), result(kCount);
  for (std::size_t i = 0; i < x.size(); ++i) {
    condition[i] = i % 3 != 0;
    x[i] = i % 2 == 0 ? -0.0 : static_cast<double>(i);
  }
  const auto bytes = [](const auto& v) { return reinterpret_cast<const std::byte*>(v.data()); };
  const std::vector<const std::byte*> operands{bytes(condition), bytes(x), bytes(y)};
  apply_scalar(def(Op::Select), DType::Float64, DType::Float64, operands,
               reinterpret_cast<std::byte*>(result.data()), kCount);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (condition[i] == 0) {
      REQUIRE(std::isnan(result[i]));
    } else {
      REQUIRE((result[i] == x[i] && std::signbit(result[i]) == std::signbit(x[i])));
    }
  }
}

TEST_CASE("scalar ops: folding a node of constants gives its meaning") {
  const Value third =
      fold_scalar(*(scalar_constant(DType::Float32, 1) / scalar_constant(DType::Float32, 3)).node);
  CHECK(third == scalar_constant(DType::Float32, 1.0f / 3.0f));
  const Value wrapped = fold_scalar(
      *(scalar_constant_int(DType::Int8, 127) + scalar_constant_int(DType::Int8, 1)).node);
  CHECK(wrapped == scalar_constant_int(DType::Int8, -128));
  const Value truth = fold_scalar(
      *less(scalar_constant(DType::Float16, 1), scalar_constant(DType::Float16, 2)).node);
  CHECK(truth == scalar_constant_int(DType::Bool, 1));
  CHECK(fold_scalar(*cast(scalar_constant(DType::Float64, -3.7), DType::Int32).node) ==
        scalar_constant_int(DType::Int32, -3));
  CHECK(fold_scalar(*bitcast(third, DType::Int32).node) ==
        scalar_constant_int(DType::Int32, 0x3eaaaaab));
  CHECK(fold_scalar(*bitcast(scalar_constant_int(DType::UInt16, 0x8000), DType::Float16).node) ==
        scalar_constant(DType::Float16, -0.0));
  CHECK(fold_scalar(*select(truth, third, scalar_constant(DType::Float32, kNaN)).node) == third);
}
