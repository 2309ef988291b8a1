// Compares argmax, argmin, cumsum and cumprod along every axis of all kinds of dims with loops, and
// gradients of reductions over every axis, with and without keepdims, with finite differences.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using Dims = std::vector<std::int64_t>;
using Elements = std::vector<double>;

const Dims kAxisSweepDims[] = {{1}, {5}, {0}, {1, 1}, {2, 3}, {3, 0, 2}, {2, 1, 3}, {1, 4, 1, 2}};

/// Halves from -2 to 2, with ties; sums and products are exact.
Array halves(const Dims& dims) {
  Array x = Array::zeros(dims, DType::Float64);
  int i = 0;
  for (double& element : x.as<double>()) element = (5 * ++i % 9 - 4) / 2.0;
  return x;
}

/// x as lines along the axis: the size before the axis, its own, and the size after it.
struct Lines {
  std::int64_t outer = 1, size, inner = 1;
  Lines(const Dims& dims, std::size_t axis) : size(dims[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= dims[i];
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  }
  std::size_t at(std::int64_t line, std::int64_t k) const {
    return static_cast<std::size_t>((line / inner * size + k) * inner + line % inner);
  }
};

Elements line_of(const Array& x, const Lines& lines, std::int64_t line) {
  Elements elements;
  for (std::int64_t k = 0; k < lines.size; ++k) {
    elements.push_back(x.as<double>()[lines.at(line, k)]);
  }
  return elements;
}

/// The index of the first extreme element.
std::int64_t first_extreme(const Elements& x, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (largest ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

Array cumulated(const Array& x, std::size_t axis, bool multiplied) {
  Array result = x;
  const Lines lines(x.dims(), axis);
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    double value = multiplied ? 1 : 0;
    for (std::int64_t k = 0; k < lines.size; ++k) {
      const double element = x.as<double>()[lines.at(line, k)];
      value = multiplied ? value * element : value + element;
      result.as<double>()[lines.at(line, k)] = value;
    }
  }
  return result;
}

Array extremes(const Array& x, std::size_t axis, bool largest) {
  Dims dims = x.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  const Lines lines(x.dims(), axis);
  Array result = Array::zeros(dims, DType::Int64);
  for (std::int64_t line = 0; line < result.size(); ++line) {
    result.as<std::int64_t>()[static_cast<std::size_t>(line)] =
        first_extreme(line_of(x, lines, line), largest);
  }
  return result;
}

Tensor input(const Array& x, bool known) {
  std::vector<ShapeEntry> shape;
  for (const std::int64_t size : x.dims()) {
    shape.push_back(known ? ShapeEntry(size) : ShapeEntry(None));
  }
  return placeholder({.shape = shape, .dtype = "float64"});
}

using Reduce = Tensor (*)(const Operand& x, const AxisOptions& options);
struct Reduction {
  const char* name;
  Reduce reduce;
};
const Reduction kAxisSweepReductions[] = {
    {"max", max},   {"min", min}, {"sum", sum}, {"prod", prod},
    {"mean", mean}, {"var", var}, {"std", std}, {"logsumexp", logsumexp}};

}  // namespace

TEST_CASE("axis sweep: functions along every axis of all kinds of dims", "[k]") {
  for (const Dims& dims : kAxisSweepDims) {
    const Array x = halves(dims);
    const Tensor known = input(x, true), unknown = input(x, false);
    Tensors results;
    std::vector<Array> expected;
    std::vector<std::string> names;
    const auto add = [&](const char* name, int axis, const Tensor& y, const Array& value) {
      results.push_back(y);
      expected.push_back(value);
      names.push_back(text(name, " of (", join_text(dims), ") along ", axis));
    };
    const int rank = static_cast<int>(dims.size());
    for (int axis = -rank; axis < rank; ++axis) {
      const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
      const Tensor& p = axis < 0 ? known : unknown;
      add("cumsum", axis, cumsum(p, {.axis = axis}), cumulated(x, at, false));
      add("cumprod", axis, cumprod(p, {.axis = axis}), cumulated(x, at, true));
      if (dims[at] == 0) continue;
      add("argmax", axis, argmax(p, {.axis = axis}), extremes(x, at, true));
      add("argmin", axis, argmin(p, {.axis = axis}), extremes(x, at, false));
    }
    const auto found = evaluate({known, unknown}, results, {x, x});
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(names[i]);
      CHECK(difference(found[i], expected[i], 1e-12) == "");
    }
  }
}

TEST_CASE("axis sweep: gradients of reductions over every axis, with and without keepdims", "[k]") {
  static const Reduction* reduction = nullptr;
  static AxisOptions options;
  for (const Reduction& one : kAxisSweepReductions) {
    reduction = &one;
    for (const Axes& axes : {Axes(None), Axes(0), Axes(-1), Axes{-1, 0}, Axes{1, 2}}) {
      for (const bool keepdims : {false, true}) {
        options = {.axis = axes, .keepdims = keepdims};
        INFO("axes " << (axes.is_set() ? join_text(axes.axes()) : "None") << ", keepdims "
                     << keepdims);
        run(SmoothRow{one.name, {{2, 3, 2}}, [](const Tensors& x) {
                        return square(reduction->reduce(x[0], options));
                      }});
      }
    }
  }
}

TEST_CASE("axis sweep: gradients along every axis", "[k]") {
  static int axis = 0;
  for (axis = -3; axis < 3; ++axis) {
    INFO("axis " << axis);
    run(SmoothRow{"cumsum", {{2, 3, 2}}, [](const Tensors& x) {
                    return square(cumsum(x[0], {.axis = axis}));
                  }});
    run(SmoothRow{"cumprod", {{2, 3, 2}}, [](const Tensors& x) {
                    return square(cumprod(x[0], {.axis = axis}));
                  }});
  }
}

TEST_CASE("axis sweep: reductions of lists and ties over several axes", "[k]") {
  const auto slope = [](const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; };
  static const auto slope_of = slope;
  run(std::vector<Row>{
      {"max ties over two axes",
       {f32({2, 2, 2}, {3, 3, 1, 0, 3, 2, 2, 3})},
       [](const Tensors& x) { return slope_of(max(x[0]), x[0]); },
       f32({2, 2, 2}, {0.25, 0.25, 0, 0, 0.25, 0, 0, 0.25})},
      {"min ties of all",
       {f32({1, 3}, {2, 2, 2})},
       [](const Tensors& x) { return slope_of(min(x[0], {.axis = {0, 1}}), x[0]); },
       f32({1, 3}, {1.f / 3, 1.f / 3, 1.f / 3})},
      {"max ties with an upstream gradient",
       {f32({2, 2}, {1, 1, 4, 5})},
       [](const Tensors& x) {
         const Tensor weights = constant({{10.}, {20.}});
         return slope_of(max(x[0], {.axis = 1, .keepdims = true}) * weights, x[0]);
       },
       f32({2, 2}, {5, 5, 0, 20})},
      {"max of one element",
       {f32({1, 1}, {7})},
       [](const Tensors& x) { return slope_of(max(x[0]), x[0]); },
       f32({1, 1}, {1})},
      {"max of nothing has no slope",
       {f32({2, 0}, {})},
       [](const Tensors& x) { return slope_of(max(x[0], {.axis = 1}), x[0]); },
       f32({2, 0}, {})},
      {"prod of a list along the axis of a matrix",
       {f32({2}, {2, 3}), f32({2}, {4, 5})},
       [](const Tensors& x) { return prod(x, {.axis = -1, .keepdims = true}); },
       f32({2, 1}, {6, 20})},
      {"prod slope with one zero and with two",
       {f32({2, 3}, {0, 2, 3, 0, 0, 5})},
       [](const Tensors& x) { return slope_of(prod(x[0], {.axis = -1}), x[0]); },
       f32({2, 3}, {6, 0, 0, 0, 0, 0})},
      {"prod second order with a zero",
       {f32({3}, {2, 0, 3})},
       [](const Tensors& x) {
         const Tensor weights = constant({1., 10., 100.});
         return slope_of(slope_of(prod(x[0]), x[0]) * weights, x[0]);
       },
       f32({3}, {30, 203, 20})},
      {"mean of int64 is of floatx",
       {i64({2}, {1, 2})},
       [](const Tensors& x) { return mean(x[0]); },
       f32({}, {1.5})},
      {"std of bool",
       {bools({2}, {true, false})},
       [](const Tensors& x) { return std(x[0]); },
       f32({}, {0.5})},
      {"var of one element",
       {f32({1}, {9})},
       [](const Tensors& x) { return var(x[0]); },
       f32({}, {0})},
      {"logsumexp of bfloat16 beyond its sums",
       {f32({2}, {300, 300})},
       [](const Tensors& x) { return cast(logsumexp(cast(x[0], "bfloat16")), "float32"); },
       f32({}, {300})},
      {"any of NaN",
       {f32({2}, {0, kNaN})},
       [](const Tensors& x) { return any(x[0]); },
       bools({}, {true})},
      {"all of integers keepdims",
       {i64({2, 2}, {1, 2, 0, 4})},
       [](const Tensors& x) { return all(x[0], {.axis = -1, .keepdims = true}); },
       bools({2, 1}, {true, false})},
  });
}

TEST_CASE("axis sweep: misuse of products of lists and of functions along an axis", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype = "float32") {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const Tensor two = of({2}), matrix = of({2, 3});
  testing::run({
      {throws<ValueError>(), [&] { prod({two, of({3})}); },
       "prod: x[0] and x[1] have different shapes (x[0] float32[2], x[1] float32[3])"},
      {throws<TypeError>(), [&] { prod({two, of({2}, "int32")}); },
       "prod: x[0] and x[1] have different dtypes (x[0] float32[2], x[1] int32[2])"},
      {throws<ValueError>(), [&] { prod({two, Tensor()}); }, "prod: x[1] is an empty tensor"},
      {throws<ValueError>(), [&] { prod({two, two}, {.axis = 2}); },
       "prod: axis 2 is out of range for rank 2"},
      {throws<ValueError>(), [&] { prod({two, two}, {.axis = {0, -2}}); },
       "prod: axis (0, -2) repeats an axis"},
      {throws<ValueError>(), [&] { cumsum(matrix, {.axis = 2}); },
       "cumsum: axis 2 is out of range for rank 2"},
      {throws<ValueError>(), [&] { cumprod(of({})); },
       "cumprod: axis 0 is out of range for rank 0"},
      {throws<ValueError>(), [&] { argmin(matrix, {.axis = -3}); },
       "argmin: axis -3 is out of range for rank 2"},
      {throws<ValueError>(), [&] { logsumexp(matrix, {.axis = {1, 1}}); },
       "logsumexp: axis (1, 1) repeats an axis"},
      {throws<ValueError>(), [&] { std(matrix, {.axis = {0, -2}}); },
       "std: axis (0, -2) repeats an axis"},
  });
}

}  // namespace kiln::test
