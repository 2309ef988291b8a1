// Tests empty and size-1 dims, NaN, infinities, signed zeros and subnormals on the tested backend.
#include "tests/support/catch.h"
#include "tests/core/ops/case.h"
#include "tests/core/ops/evaluate.h"
#include "tests/core/ops/non_finite.h"

#include "core/autodiff/vjp.h"
#include "core/ops/build.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

using namespace kiln;
using namespace kiln::test;
using ir::Op;
using ir::Value;

namespace {

Array row(DType dtype, const std::vector<double>& elements) {
  return Array(elements).astype(dtype);
}

Array of_bits(DType dtype, const std::vector<std::uint16_t>& bits) {
  Array array = Array::zeros({static_cast<std::int64_t>(bits.size())}, dtype);
  std::memcpy(array.data(), bits.data(), bits.size() * sizeof bits[0]);
  return array;
}

/// Compares bits, with all NaNs equal; subnormals that count as zero are zero.
void check_bits(const Array& actual, const std::vector<double>& expected) {
  const std::vector<double> values = doubles(actual);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " for " << expected[i]);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(values[i]));
    } else {
      CHECK(values[i] == expected[i]);
      CHECK(std::signbit(values[i]) == std::signbit(expected[i]));
    }
  }
}

Array apply(Op op, const std::vector<Array>& feeds) {
  std::vector<Value> x;
  for (const Array& feed : feeds) x.push_back(placeholder(type_of(feed)));
  return evaluate(x, {ir::make(op, ir::NoAttrs{}, x)}, feeds)[0];
}

/// Libraries may omit products of the filter and zeros of the padding, so filters must be finite.
bool has_finite_filter(const Case& row) { return row.op == Op::Conv && tested_backend() == "cuda"; }

}  // namespace

TEST_CASE("special dims: elementwise ops take empty and size-1 dims in every dtype") {
  for (const ir::OpDef& d : ir::all_ops()) {
    if (!has_scalar_meaning(d)) continue;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (d.op != Op::Select && (d.dtypes & ir::dtype_bit(dtype)) == 0) continue;
      for (const std::vector<std::int64_t>& dims :
           {std::vector<std::int64_t>{0, 3}, {2, 0}, {1, 1}, {}}) {
        INFO(d.name << " of " << dtype_name(dtype) << " rank " << dims.size());
        std::vector<Value> x;
        std::vector<Array> feeds;
        for (int k = 0; k < d.arity; ++k) {
          const bool condition = d.op == Op::Select && k == 0;
          feeds.push_back(Array::full(dims, 1, condition ? DType::Bool : dtype));
          x.push_back(placeholder(type_of(feeds.back())));
        }
        std::vector<Value> y{ir::make(d.op, ir::NoAttrs{}, x)};
        if (is_float(dtype) && is_float(y[0].dtype())) {
          const Value one = ir::like(y[0], 1);
          for (const Value& dx : autodiff::vjp({y.data(), 1}, {&one, 1}, x).dx) {
            if (dx) y.push_back(dx);
          }
        }
        const std::vector<Array> results = evaluate(x, y, feeds);
        for (std::size_t k = 0; k < y.size(); ++k) CHECK(type_of(results[k]) == y[k].type());
      }
    }
  }
}

TEST_CASE("special dims: reductions over nothing give their neutral values") {
  const std::vector<Value> x{placeholder({DType::Float32, {2, 0}}),
                             placeholder({DType::Int8, {2, 0}})};
  const std::vector<Array> feeds{Array::zeros({2, 0}), Array::zeros({2, 0}, DType::Int8)};
  const auto over = [&](Op op, std::size_t i) { return ir::reduce(op, x[i], {1}); };
  const auto results = evaluate(x,
                                {over(Op::Sum, 0), over(Op::Prod, 0), over(Op::Max, 0),
                                 over(Op::Min, 0), over(Op::Max, 1), over(Op::Min, 1)},
                                feeds);
  check_bits(results[0], {0, 0});
  check_bits(results[1], {1, 1});
  check_bits(results[2], {-kInf, -kInf});
  check_bits(results[3], {kInf, kInf});
  check_bits(results[4], {-128, -128});
  check_bits(results[5], {127, 127});
}

TEST_CASE("special dims: a matmul with K = 0 is zeros, and so are its gradients") {
  const std::vector<Value> x{placeholder({DType::Float32, {2, 0}}),
                             placeholder({DType::Float32, {0, 3}})};
  const Value y = ir::dot(x[0], {0, 1}, x[1], {1, 2}, {0, 2});
  const Value one = ir::like(y, 1);
  std::vector<Value> results{y};
  for (const Value& dx : autodiff::vjp({&y, 1}, {&one, 1}, x).dx) results.push_back(dx);
  const auto arrays = evaluate(x, results, {Array::zeros({2, 0}), Array::zeros({0, 3})});
  check_bits(arrays[0], {0, 0, 0, 0, 0, 0});
  CHECK(arrays[1].dims() == std::vector<std::int64_t>{2, 0});
  CHECK(arrays[2].dims() == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("special values: NaN, infinities and signed zeros follow the documented semantics") {
  for (DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    INFO(dtype_name(dtype));
    const Array a = row(dtype, {kNan, 1, -0.0, 0.0, kInf, -kInf});
    const Array b = row(dtype, {1, kNan, 0.0, -0.0, -kInf, kNan});
    check_bits(apply(Op::Maximum, {a, b}), {kNan, kNan, 0.0, 0.0, kInf, kNan});
    check_bits(apply(Op::Minimum, {a, b}), {kNan, kNan, -0.0, -0.0, -kInf, kNan});
    check_bits(apply(Op::Sign, {a}), {kNan, 1, -0.0, 0.0, 1, -1});
    check_bits(apply(Op::Neg, {a}), {kNan, -1, 0.0, -0.0, -kInf, kInf});
    check_bits(apply(Op::Equal, {a, b}), {0, 0, 1, 1, 0, 0});
    check_bits(apply(Op::Less, {a, b}), {0, 0, 0, 0, 0, 0});
    check_bits(apply(Op::Sqrt, {a}), {kNan, 1, -0.0, 0.0, kInf, kNan});
    check_bits(apply(Op::Sigmoid, {a}),
               {kNan, doubles(apply(Op::Sigmoid, {a}))[1], 0.5, 0.5, 1, 0});
    check_bits(apply(Op::Erf, {a}), {kNan, doubles(apply(Op::Erf, {a}))[1], -0.0, 0.0, 1, -1});
    const double right = doubles(row(dtype, {std::numbers::pi / 2}))[0];
    check_bits(apply(Op::Atan, {a}),
               {kNan, doubles(apply(Op::Atan, {a}))[1], -0.0, 0.0, right, -right});
    check_bits(apply(Op::Round, {row(dtype, {0.5, 1.5, 2.5, -0.5})}), {0, 2, 2, -0.0});
  }
  const Array x = row(DType::Float32, {1, kNan, 3, kNan});
  const Value p = placeholder(type_of(x));
  const Value arg = ir::make(Op::ArgMax, ir::AxisAttrs{0}, {p});
  const auto results =
      evaluate({p}, {ir::reduce_max(p, {0}), ir::reduce(Op::Min, p, {0}), arg}, {x});
  check_bits(results[0], {kNan});
  check_bits(results[1], {kNan});
  check_bits(results[2], {1});
}

TEST_CASE("special values: subnormal floats count as zeros of their sign") {
  const Array x = row(DType::Float32, {0x1p-130, -0x1p-130, 0x1p-126});
  check_bits(apply(Op::Add, {x, row(DType::Float32, {0, -0.0, 0})}), {0.0, -0.0, 0x1p-126});
  const Array half = row(DType::Float32, {0.5, 0.5, 0.5});
  const Array smallest = row(DType::Float32, {0x1p-126, -0x1p-126, 1});
  check_bits(apply(Op::Mul, {smallest, half}), {0.0, -0.0, 0.5});
}

TEST_CASE("special values: subnormal bfloat16 count as zeros, float16 keep their values") {
  struct Row {
    DType dtype;
    std::uint16_t bits;     // a subnormal
    double value, logarithm, smallest_normal;
  };
  const Row rows[] = {{DType::BFloat16, 0x0007, 0, -kInf, 0x1p-126},
                      {DType::Float16, 0x0001, 0x1p-24, -0x1.0a4p+4, 0x1p-14}};
  for (const Row& one : rows) {
    INFO(dtype_name(one.dtype));
    const Array x = of_bits(one.dtype, {one.bits, std::uint16_t(one.bits | 0x8000)});
    const double v = one.value, is_zero = v == 0 ? 1 : 0, is_more = 1 - is_zero;
    check_bits(apply(Op::Add, {x, x}), {2 * v, -2 * v});
    check_bits(apply(Op::Mul, {x, row(one.dtype, {2, 2})}), {2 * v, -2 * v});
    check_bits(apply(Op::Sub, {x, row(one.dtype, {1, 1})}), {-1, -1});
    check_bits(apply(Op::Div, {row(one.dtype, {1, 1}), x}), {kInf, -kInf});
    check_bits(apply(Op::Div, {x, x}), {v == 0 ? kNan : 1, v == 0 ? kNan : 1});
    check_bits(apply(Op::Sqrt, {x}), {std::sqrt(v), v == 0 ? -0.0 : kNan});
    check_bits(apply(Op::Log, {x}), {one.logarithm, v == 0 ? -kInf : kNan});
    check_bits(apply(Op::Equal, {x, row(one.dtype, {0, 0})}), {is_zero, is_zero});
    check_bits(apply(Op::Less, {row(one.dtype, {0, 0}), x}), {is_more, 0});
    check_bits(apply(Op::Neg, {x}), {-v, v});
    const Value p = placeholder(type_of(x));
    const auto casts = evaluate({p},
                                {ir::cast(p, DType::Bool), ir::cast(p, DType::Float32),
                                 ir::cast(p, DType::Float64), ir::reduce_sum(p, {0})},
                                {x});
    check_bits(casts[0], {is_more, is_more});
    check_bits(casts[1], {v, -v});
    check_bits(casts[2], {v, -v});
    check_bits(casts[3], {0.0});
    // Results that would be subnormal.
    const double n = one.smallest_normal, half = v == 0 ? 0 : n / 2;
    const Array least = row(one.dtype, {n, -n});
    check_bits(apply(Op::Mul, {least, row(one.dtype, {0.5, 0.5})}), {half, -half});
    for (const DType from : {DType::Float32, DType::Float64}) {
      const Array wide = row(from, {n, -n});
      const Value q = placeholder(type_of(wide));
      const Value small = ir::cast(q * 0.5, one.dtype);
      check_bits(evaluate({q}, {ir::cast(small, DType::Float64)}, {wide})[0], {half, -half});
    }
  }
}

TEST_CASE("special values: integers wrap and never trap") {
  const Array a = row(DType::Int8, {-128, 127, 100, 7, -7});
  const Array b = row(DType::Int8, {-1, 1, 0, -2, 2});
  check_bits(apply(Op::Div, {a, b}), {-128, 127, 0, -3, -3});
  check_bits(apply(Op::Mod, {a, b}), {0, 0, 0, 1, -1});
  check_bits(apply(Op::Add, {a, b}), {127, -128, 100, 5, -5});
  check_bits(apply(Op::Abs, {a}), {-128, 127, 100, 7, 7});
  check_bits(apply(Op::Pow, {row(DType::Int32, {2, -1, 0, 3}), row(DType::Int32, {-1, -3, 0, 3})}),
             {0, -1, 1, 27});
}

TEST_CASE("special values: casts saturate, truncate and take NaN to no integer") {
  const Array x = row(DType::Float32, {1e10, -1e10, kNan, 1.9, -1.9, 300});
  const Value p = placeholder(type_of(x));
  const auto results = evaluate(
      {p}, {ir::cast(p, DType::Int32), ir::cast(p, DType::UInt8), ir::cast(p, DType::Bool)}, {x});
  check_bits(results[0], {2147483647.0, -2147483648.0, 0, 1, -1, 300});
  check_bits(results[1], {255, 0, 0, 1, 0, 255});
  check_bits(results[2], {1, 1, 1, 1, 1, 1});
}

TEST_CASE("indices: one out of range is an error that names op, index and size") {
  struct Bad {
    DType dtype;
    std::int64_t bits;
    const char* text;
  };
  const Bad rows[] = {
      {DType::Int32, -1, "index -1 "},
      {DType::Int32, 3, "index 3 "},
      {DType::Int64, std::numeric_limits<std::int64_t>::min(), "index -9223372036854775808 "},
      {DType::UInt8, -1, "index 255 "},
      {DType::UInt32, -1, "index 4294967295 "},
      {DType::UInt64, -1, "index 18446744073709551615 "},
      {DType::UInt64, std::numeric_limits<std::int64_t>::min(), "index 9223372036854775808 "}};
  for (const Bad& row : rows) {
    const std::vector<Value> x{placeholder({DType::Float32, {3}}), placeholder({row.dtype, {1}}),
                               placeholder({DType::Float32, {1}})};
    const Array index = Array(std::vector<std::int64_t>{row.bits}).astype(row.dtype);
    const auto run = [&](const Value& y) {
      evaluate(x, {y}, {Array::zeros({3}), index, Array::zeros({1})});
    };
    const auto names = [&](const char* op) {
      return Catch::Matchers::ContainsSubstring(
          row.text + std::string("is outside of an axis of size 3 (op ") + op);
    };
    CHECK_THROWS_WITH(run(ir::gather(x[0], x[1])), names("gather"));
    CHECK_THROWS_WITH(run(ir::scatter_add(x[1], x[2], 0, 3)), names("scatter_add"));
  }
}

TEST_CASE("op table: every row agrees with the oracle on special values, gradients too") {
  const double specials[] = {0.0, kNan, 1, -kInf, 2.5, -0.0, kInf, -1};
  for (const Case& row : cases()) {
    // Elements of these become indices.
    const Op op = row.op;
    if (op == Op::Gather || op == Op::ScatterAdd || op == Op::ScatterSub) continue;
    if (row.operands.empty()) continue;
    std::vector<Value> x;
    for (const ir::Type& type : row.operands) x.push_back(placeholder(type));
    std::vector<Value> y = row.build(x);
    const Value one = ir::like(y[0], 1);
    if (row.gradient_order > 0) {
      for (const Value& dx : autodiff::vjp({y.data(), 1}, {&one, 1}, x).dx) {
        if (dx) y.push_back(dx);
      }
    }
    for (std::size_t from = 0; from < std::size(specials); ++from) {
      std::vector<Array> feeds;
      std::size_t next = from;
      for (const Value& operand : x) {
        std::mt19937_64 generator;
        feeds.push_back(random_array(generator, operand.type(), 0, 1));
        if (feeds.size() == 2 && has_finite_filter(row)) continue;
        for (double& element : feeds.back().as<double>()) {
          element = specials[next++ % std::size(specials)];
        }
        next += from / 2;  // so that other pairs are combined
      }
      const std::vector<Array> expected = evaluate(x, y, feeds, "reference", false);
      for (const bool optimise : {false, true}) {
        const std::vector<Array> actual = evaluate(x, y, feeds, tested_backend(), optimise);
        for (std::size_t i = 0; i < y.size(); ++i) {
          INFO(def(row.op).name << ", specials from " << from << ", result " << i
                                << (optimise ? ", after the passes" : ""));
          CHECK(difference(actual[i], expected[i], 1e-12, 1e-12) == "");
        }
      }
    }
  }
}
