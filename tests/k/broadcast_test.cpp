// Compares binary functions and operators over pairs of dims that broadcast, 0 and 1 among them,
// known and unknown, with loops that follow NumPy; gradients are reduced to the operand's dims.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include "core/types/text.h"

#include <algorithm>
#include <cmath>

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

struct Pair {
  Dims x, y;
};
const Pair kPairs[] = {{{}, {}},      {{}, {3}},        {{2, 3}, {}},        {{2, 3}, {3}},
                       {{3}, {2, 3}}, {{2, 1}, {1, 3}}, {{2, 1, 3}, {4, 1}}, {{1}, {0}},
                       {{0, 3}, {3}}, {{2, 1}, {2, 0}}, {{1, 1, 1}, {2, 2}}, {{2, 3}, {2, 3}}};

const Pair kSmoothPairs[] = {{{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {2, 2}}, {{2, 1, 2}, {3, 1}}};

struct Binary {
  const char* name;
  Tensor (*build)(const Operand& x, const Operand& y);
  double (*formula)(double x, double y);
  bool is_bool = false;
};
const Binary kBinary[] = {
    {"operator+", operator+, [](double x, double y) { return x + y; }},
    {"operator-", operator-, [](double x, double y) { return x - y; }},
    {"operator*", operator*, [](double x, double y) { return x * y; }},
    {"operator/", operator/, [](double x, double y) { return x / y; }},
    {"pow", pow, [](double x, double y) { return std::pow(x, y); }},
    {"maximum", maximum, [](double x, double y) { return std::max(x, y); }},
    {"minimum", minimum, [](double x, double y) { return std::min(x, y); }},
    {"equal", equal, [](double x, double y) { return double(x == y); }, true},
    {"not_equal", not_equal, [](double x, double y) { return double(x != y); }, true},
    {"less", less, [](double x, double y) { return double(x < y); }, true},
    {"less_equal", less_equal, [](double x, double y) { return double(x <= y); }, true},
    {"greater", greater, [](double x, double y) { return double(x > y); }, true},
    {"greater_equal", greater_equal, [](double x, double y) { return double(x >= y); }, true},
};

/// 0.5 .. 2 in steps of a half, repeated, with ties.
Array positive(const Dims& dims, int step) {
  Array x = Array::zeros(dims, DType::Float64);
  int i = 0;
  for (double& element : x.as<double>()) element = (step * ++i % 4 + 1) / 2.0;
  return x;
}

Dims stretched(const Dims& x, const Dims& y) {
  const Dims &longer = x.size() >= y.size() ? x : y, &shorter = x.size() >= y.size() ? y : x;
  Dims dims = longer;
  for (std::size_t i = 1; i <= shorter.size(); ++i) {
    std::int64_t& dim = dims[dims.size() - i];
    if (dim == 1) dim = shorter[shorter.size() - i];
  }
  return dims;
}

/// The element of x at a flat index of the broadcast dims.
double element(const Array& x, const Dims& dims, std::int64_t flat) {
  std::int64_t offset = 0, stride = 1;
  for (std::size_t i = 1; i <= dims.size(); ++i) {
    const std::int64_t size = dims[dims.size() - i], index = flat % size;
    flat /= size;
    if (i > x.dims().size()) continue;
    const std::int64_t own = x.dims()[x.dims().size() - i];
    if (own != 1) offset += index * stride;
    stride *= own;
  }
  return x.as<double>()[static_cast<std::size_t>(offset)];
}

Array expected_of(const Binary& row, const Array& x, const Array& y) {
  const Dims dims = stretched(x.dims(), y.dims());
  Array result = Array::zeros(dims, DType::Float64);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.as<double>()[static_cast<std::size_t>(i)] =
        row.formula(element(x, dims, i), element(y, dims, i));
  }
  return row.is_bool ? result.astype(DType::Bool) : result;
}

Tensor input(const Array& x, bool known) {
  std::vector<ShapeEntry> shape;
  for (const std::int64_t size : x.dims()) {
    shape.push_back(known || size == 1 ? ShapeEntry(size) : ShapeEntry(None));
  }
  return placeholder({.shape = shape, .dtype = "float64"});
}

}  // namespace

TEST_CASE("broadcasting: operands of two shapes", "[k]") {
  for (const Pair& pair : kPairs) {
    const Array x = positive(pair.x, 3), y = positive(pair.y, 5);
    for (const bool known : {true, false}) {
      const Tensor p = input(x, known), q = input(y, known);
      Tensors results;
      for (const Binary& row : kBinary) results.push_back(row.build(p, q));
      const auto found = evaluate({p, q}, results, {x, y});
      for (std::size_t i = 0; i < found.size(); ++i) {
        INFO(kBinary[i].name << " of (" << join_text(pair.x) << ") and (" << join_text(pair.y)
                             << "), known " << known);
        CHECK(difference(found[i], expected_of(kBinary[i], x, y), 1e-12) == "");
      }
    }
  }
}

TEST_CASE("broadcasting: a number on either side", "[k]") {
  const Array x = positive({2, 3}, 3), number(1.5);
  const Tensor p = input(x, false);
  for (const Binary& row : kBinary) {
    INFO(row.name);
    const auto found = evaluate({p}, {row.build(p, 1.5), row.build(1.5, p)}, {x});
    CHECK(difference(found[0], expected_of(row, x, number), 1e-12) == "");
    CHECK(difference(found[1], expected_of(row, number, x), 1e-12) == "");
  }
}

TEST_CASE("broadcasting: gradients to second order", "[k]") {
  static const Binary* binary = nullptr;
  for (const Binary& row : kBinary) {
    if (row.is_bool) continue;
    binary = &row;
    for (const Pair& pair : kSmoothPairs) {
      INFO("(" << join_text(pair.x) << ") and (" << join_text(pair.y) << ")");
      run(SmoothRow{row.name,
                    {pair.x, pair.y},
                    [](const Tensors& x) { return square(binary->build(x[0], x[1])); },
                    0.5,
                    2});
    }
  }
}

TEST_CASE("elementwise functions: values and gradients at kinks", "[k]") {
  static const auto slope = [](const Tensor& y, const Tensor& x) {
    return gradients(sum(y), {x})[0];
  };
  run(std::vector<Row>{
      {"clip of numbers the wrong way round",
       {f32({4}, {0, 1, 2, 3})},
       [](const Tensors& x) { return clip(x[0], 2, 1); },
       f32({4}, {2, 2, 2, 2})},
      {"clip slope of numbers the wrong way round",
       {f32({4}, {0, 1, 2, 3})},
       [](const Tensors& x) { return slope(clip(x[0], 2, 1), x[0]); },
       f32({4}, {0, 0, 1, 0})},
      {"clip of integers the wrong way round",
       {i32({3}, {-9, 2, 9})},
       [](const Tensors& x) { return clip(x[0], 5, -5); },
       i32({3}, {5, 5, 5})},
      {"clip slope at both bounds, of tensors",
       {f32({3}, {0, 1, 2}), f32({}, {0}), f32({}, {2})},
       [](const Tensors& x) { return slope(clip(x[0], x[1], x[2]), x[0]); },
       f32({3}, {1, 1, 1})},
      {"clip slope of what is below",
       {f32({3}, {-1, 1, 5}), f32({}, {0})},
       [](const Tensors& x) { return slope(clip(x[0], x[1], 2), x[1]); },
       f32({}, {1})},
      {"clip of NaN",
       {f32({1}, {kNaN})},
       [](const Tensors& x) { return clip(x[0], 0, 1); },
       f32({1}, {kNaN})},
      {"clip of infinities",
       {f32({2}, {-kInf, kInf})},
       [](const Tensors& x) { return clip(x[0], -3, 4); },
       f32({2}, {-3, 4})},
      {"maximum slope at a tie with a number",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return slope(maximum(x[0], 2), x[0]); },
       f32({3}, {0, 1, 1})},
      {"maximum slope at a tie, number first",
       {f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return slope(maximum(2, x[0]), x[0]); },
       f32({3}, {0, 0, 1})},
      {"abs second order",
       {f32({3}, {-2, 0, 3})},
       [](const Tensors& x) { return slope(slope(abs(x[0]) * x[0], x[0]), x[0]); },
       f32({3}, {-2, 0, 2})},
      {"sqrt second order at 0 and below",
       {f32({3}, {-1, 0, 4})},
       [](const Tensors& x) { return slope(slope(sqrt(x[0]), x[0]), x[0]); },
       f32({3}, {0, 0, -0.03125f})},
      {"sqrt of infinity",
       {f32({2}, {kInf, -kInf})},
       [](const Tensors& x) { return sqrt(x[0]); },
       f32({2}, {kInf, 0})},
      {"exp and log far out",
       {f32({2}, {1000, -1000})},
       [](const Tensors& x) { return log(exp(x[0])); },
       f32({2}, {kInf, -kInf})},
      {"round of large and small",
       {f32({5}, {-2.5, 3.5, 8388609, -0.4f, 1e30f})},
       [](const Tensors& x) { return round(x[0]); },
       f32({5}, {-2, 4, 8388609, 0, 1e30f})},
      {"sign of integers",
       {i64({3}, {-7, 0, 9})},
       [](const Tensors& x) { return sign(x[0]); },
       i64({3}, {-1, 0, 1})},
      {"pow of 0 and of infinities",
       {f32({4}, {0, 0, kInf, 2}), f32({4}, {0, 3, 0, -kInf})},
       [](const Tensors& x) { return pow(x[0], x[1]); },
       f32({4}, {1, 0, 1, 0})},
      {"pow of a negative base",
       {f32({3}, {-2, -2, -8})},
       [](const Tensors& x) { return pow(x[0], constant({2., 3., 0.5})); },
       f32({3}, {4, -8, kNaN})},
      {"pow slope in the exponent at 0 and below",
       {f32({3}, {0, -2, 2}), f32({3}, {2, 2, 3})},
       [](const Tensors& x) { return slope(pow(x[0], x[1]), x[1]); },
       f32({3}, {0, 0, 5.54517744f})},
      {"comparisons of bools",
       {bools({4}, {false, false, true, true}), bools({4}, {false, true, false, true})},
       [](const Tensors& x) { return less(x[0], x[1]); },
       bools({4}, {false, true, false, false})},
      {"comparison of NaN",
       {f32({2}, {kNaN, 1})},
       [](const Tensors& x) { return greater_equal(x[0], x[0]); },
       bools({2}, {false, true})},
  });
}

}  // namespace kiln::test
