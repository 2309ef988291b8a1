// Compares reductions that are large enough to run in parts with loops. All elements are small
// whole numbers, so that sums are exact in every order.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include "core/types/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;
using Combine = double (*)(double, double);

struct Reduced {
  Dims dims;
  std::vector<std::int64_t> axes;
};

const Reduced kReduced[] = {
    {{40000}, {0}},
    {{40009}, {0}},  // a prime
    {{300, 70}, {0, 1}},
    {{20011, 3}, {0, 1}},
    {{2, 20000}, {0, 1}},
    {{3, 20000}, {1}},
    {{20000, 3}, {0}},
    {{5, 60, 70}, {1, 2}},
    {{60, 5, 70}, {0, 2}},
    {{60, 70, 5}, {0, 1}},
    {{16, 16, 16, 24}, {0, 1, 2}},
    {{16, 24, 16, 16}, {0, 2, 3}},
    {{7, 1, 3000, 1}, {0, 1, 2, 3}},
};

/// The index of the result's element to which each element of x contributes.
std::vector<std::size_t> targets(const Reduced& of, Dims& result_dims) {
  const auto is_reduced = [&](std::size_t axis) {
    return std::count(of.axes.begin(), of.axes.end(), static_cast<std::int64_t>(axis)) != 0;
  };
  for (std::size_t i = 0; i < of.dims.size(); ++i) {
    if (!is_reduced(i)) result_dims.push_back(of.dims[i]);
  }
  const std::int64_t count =
      std::accumulate(of.dims.begin(), of.dims.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<std::size_t> list;
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t rest = element, target = 0, scale = 1;
    for (std::size_t i = of.dims.size(); i-- > 0;) {
      if (!is_reduced(i)) {
        target += rest % of.dims[i] * scale;
        scale *= of.dims[i];
      }
      rest /= of.dims[i];
    }
    list.push_back(static_cast<std::size_t>(target));
  }
  return list;
}

Array combined(const Array& x, const Reduced& of, double start, Combine combine) {
  Dims dims;
  const std::vector<std::size_t> to = targets(of, dims);
  Array result = Array::full(dims, start, DType::Float64);
  const Array wide = x.astype(DType::Float64);
  for (std::size_t i = 0; i < to.size(); ++i) {
    double& element = result.as<double>()[to[i]];
    element = combine(element, wide.as<double>()[i]);
  }
  return result.astype(x.dtype());
}

/// Checks static sizes, and an unknown first one. The oracle, which has no parts, checks producers
/// and consumers of a reduction, at every point and at every result.
void check_reductions(const Reduced& of, DType dtype) {
  INFO(dtype_name(dtype) << " " << text(of.dims) << " over " << text(of.axes));
  const Array x = pattern(of.dims, 7, 9).astype(dtype);
  const std::vector<Array> expected{
      combined(x, of, 0, [](double a, double b) { return a + b; }),
      combined(x, of, -kInf, [](double a, double b) { return std::max(a, b); }),
      combined(x, of, kInf, [](double a, double b) { return std::min(a, b); })};
  for (const bool is_known : {true, false}) {
    std::vector<ShapeEntry> dims(of.dims.begin(), of.dims.end());
    if (!is_known) dims[0] = None;
    const Tensor t = placeholder({.shape = dims, .dtype = dtype});
    const Tensor s = sum(t, {.axis = of.axes, .keepdims = true});
    const std::vector<Array> got = evaluate(
        {t},
        {sum(t, {.axis = of.axes}), max(t, {.axis = of.axes}), min(t, {.axis = of.axes}), t + t,
         sum(t + t, {.axis = of.axes}), max(s - t, {.axis = of.axes}), s - t, s * s},
        {x});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(difference(got[i], expected[i], 0) == "");
    }
  }
}

}  // namespace

TEST_CASE("large reductions: agree with loops") {
  for (const Reduced& of : kReduced) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32}) {
      check_reductions(of, dtype);
    }
  }
  for (const DType dtype : {DType::Float16, DType::Int8, DType::UInt64}) {
    check_reductions({{300, 70}, {0, 1}}, dtype);
  }
}

TEST_CASE("large reductions: special values propagate") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* name;
    std::vector<double> elements;  // at even distances; all others are 1
    double sum, prod, most, least;
  } rows[] = {
      {"factors", {2, 0.5, -1, 4, -2}, 17998.5, 8, 4, -2},
      {"an infinity", {kInf, 1, 1}, kInf, kInf, kInf, 1},
      {"both infinities", {kInf, 1, -kInf}, kNan, -kInf, kInf, -kInf},
      {"NaN at the end", {1, 1, kNan}, kNan, kNan, kNan, kNan},
      {"zeros of both signs", {0.0, -0.0}, 17998, -0.0, 1, 0},
      {"zero and infinity", {0, kInf}, kInf, kNan, kInf, 0},
  };
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    for (const auto& row : rows) {
      INFO(dtype_name(dtype) << " " << row.name);
      Array x = Array::full({60, 300}, 1.0, DType::Float64);
      const std::size_t last = row.elements.size() - 1;
      for (std::size_t i = 0; i <= last; ++i) x.as<double>()[17999 * i / last] = row.elements[i];
      const Tensor t = placeholder({.shape = {60, 300}, .dtype = dtype});
      const std::vector<Array> got =
          evaluate({t}, {sum(t), prod(t), max(t), min(t)}, {x.astype(dtype)});
      const double expected[] = {row.sum, row.prod, row.most, row.least};
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(difference(got[i], Array(expected[i]).astype(dtype), 0) == "");
      }
    }
  }
}

TEST_CASE("large reductions: an axis that is empty at the call gives the neutral value") {
  const Tensor t = placeholder({.shape = {None, 300}});
  const std::vector<Array> got =
      evaluate({t}, {sum(t), prod(t), max(t), sum(exp(t)) + 1.0}, {Array::zeros({0, 300})});
  CHECK(got[0].at<float>() == 0);
  CHECK(got[1].at<float>() == 1);
  CHECK(got[2].at<float>() == -kInf);
  CHECK(got[3].at<float>() == 1);
}

TEST_CASE("code sharing: kernels that differ only in the order of their sizes share no code") {
  const Tensor t = placeholder({.shape = {None, 4}});
  Tensor x = t;
  std::vector<Tensor> outputs;
  for (int step = 0; step < 4; ++step) {
    const Tensor rest = x - mean(x);
    outputs.push_back(rest * 2.0);
    x = rest * rest;
  }
  const std::vector<Array> got = evaluate({t}, {stack(outputs)}, {pattern({30, 4}, 7, 3)});
  CHECK(got[0].dims() == Dims{4, 30, 4});
}

TEST_CASE("narrow dtypes: one element behind whole vectors is stored alone") {
  for (const DType dtype : {DType::Int8, DType::Int16, DType::BFloat16, DType::Float16}) {
    INFO(dtype_name(dtype));
    const Tensor t = placeholder({.shape = {301, None, 17}, .dtype = dtype});
    const Array ones = Array::full({301, 3, 17}, 1, dtype);
    const std::vector<Array> got = evaluate({t}, {max(t, {.axis = {0, 2}}), t + t}, {ones});
    CHECK(difference(got[1], Array::full({301, 3, 17}, 2, dtype), 0) == "");
  }
}

TEST_CASE("large reductions: bools agree with loops") {
  for (const Reduced& of : kReduced) {
    INFO(text(of.dims) << " over " << text(of.axes));
    const Tensor t = placeholder({.shape = Shape(of.dims)});
    const Array x = pattern(of.dims, 1, 30011);  // one element is 0, or none
    const Tensor zero = equal(t, zeros_like(t));
    const Tensor other = not_equal(t, zeros_like(t));
    evaluate({t}, {any(zero, {.axis = of.axes}), all(other, {.axis = of.axes})}, {x});
  }
}

TEST_CASE("large reductions: columns are summed with rows, in blocks or not") {
  for (const std::int64_t rows : {16, 17, 256, 1000, 1009}) {
    INFO(rows << " rows");
    const Tensor t = placeholder({.shape = Shape({rows, 33})});
    const Tensor row = max(t, {.axis = 1, .keepdims = true});
    const Tensor rest = row - t;
    const Array x = pattern({rows, 33}, 7, 9);
    const std::vector<Array> got = evaluate(
        {t},
        {rest, sum(rest, {.axis = 0}), sum(t * rest, {.axis = 0}), sum(rest, {.axis = 0}) * 2.0},
        {x});
    const Array expected =
        combined(got[0], {{rows, 33}, {0}}, 0, [](double a, double b) { return a + b; });
    CHECK(difference(got[1], expected, 0) == "");
  }
}

TEST_CASE("large reductions: an index out of range is an error that names the gather") {
  const Tensor table = placeholder({.shape = {10, 300}});
  const Tensor indices = placeholder({.shape = {200}, .dtype = DType::Int32});
  const Function f = function({table, indices}, {sum(gather(table, indices))});
  Array at = Array::zeros({200}, DType::Int32);
  at.as<std::int32_t>()[137] = 10;
  const std::string error =
      testing::error_text<ValueError>([&] { f({Array::zeros({10, 300}), at}); });
  CHECK(error.find("gather") != error.npos);
  CHECK(error.find("10") != error.npos);
}

}  // namespace kiln::test
