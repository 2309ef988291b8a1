// Compares convolutions, windows and folds of many geometries with plain loops over indices, in
// each role: strides, dilations, paddings, groups, empty and size-1 dims, every kind of dtype.
#include "tests/core/ops/conv_loops.h"
#include "tests/support/catch.h"

#include "core/autodiff/vjp.h"
#include "core/ops/build.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::test;
using ir::Op;
using ir::Value;

namespace {

void check_close(const Array& actual, const Doubles& expected, double tolerance) {
  const Doubles values = doubles(actual);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
  }
}

void check_role(const Geometry& g, DType dtype, ConvRole role, double tolerance) {
  const ConvTensors t = draw(g, dtype);
  const std::vector<Array> feeds = operands_of(t, role);
  const std::vector<Value> x{placeholder(type_of(feeds[0])), placeholder(type_of(feeds[1]))};
  const Value result = ir::make(Op::Conv, attrs_of(g, role), x);
  check_close(evaluate(x, {result}, feeds)[0], by_loops(g, t, role), tolerance);
}

}  // namespace

TEST_CASE("convolution: agrees with plain loops in every role") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    for (const ConvRole role : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
      INFO("role " << static_cast<int>(role));
      check_role(g, DType::Float64, role, 1e-12);
      check_role(g, DType::Float32, role, 1e-5);
      check_role(g, DType::Float16, role, 1e-2);
      check_role(g, DType::BFloat16, role, 1e-1);
      check_role(g, DType::Int32, role, 0);
    }
  }
}

TEST_CASE("convolution: gradients are convolutions of the other roles") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    const ConvTensors t = draw(g, DType::Float64);
    const std::vector<Value> x{placeholder(type_of(t.input)), placeholder(type_of(t.filter))};
    const Value dy = placeholder(type_of(t.output));
    const Value y = ir::make(Op::Conv, attrs_of(g, ConvRole::Output), x);
    const std::vector<Value> dx = autodiff::vjp({&y, 1}, {&dy, 1}, x).dx;
    REQUIRE(dx[0].node->op == Op::Conv);
    REQUIRE(dx[1].node->op == Op::Conv);
    const auto results = evaluate({x[0], x[1], dy}, dx, {t.input, t.filter, t.output});
    check_close(results[0], by_loops(g, t, ConvRole::Input), 1e-12);
    check_close(results[1], by_loops(g, t, ConvRole::Filter), 1e-12);
    // The gradient of a gradient is the convolution itself.
    const Value back = ir::make(Op::Conv, dx[0].node->attrs, {x[1], dy});
    const Value cotangent = x[0];
    const std::vector<Value> wanted{x[1], dy};
    const auto second = autodiff::vjp({&back, 1}, {&cotangent, 1}, wanted).dx;
    CHECK(second[1] == y);
    CHECK(second[0] == dx[1]);
  }
}

TEST_CASE("windows and folds: agree with plain loops") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    const std::size_t n = g.sizes.size();
    Ints padded, axes;
    for (std::size_t i = 0; i < n; ++i) {
      padded.push_back(g.low[i] + g.sizes[i] + g.high[i]);
      axes.push_back(static_cast<std::int64_t>(i) + 1);
    }
    const Ints positions = g.positions();
    const Ints whole = concat({2}, padded, {3});
    const Ints view = concat({2}, positions, concat({3}, g.windows, {}));
    std::mt19937_64 generator(n);
    const Array x = random_array(generator, {DType::Float64, as_dims(whole)}, -1, 1);
    const Array y = random_array(generator, {DType::Float64, as_dims(view)}, -1, 1);
    Doubles windows(count_of(view)), folded(count_of(whole));
    if (!windows.empty()) {
      Ints i(view.size(), 0);
      do {
        Ints at(i.begin(), i.begin() + 2 + static_cast<long>(n));
        for (std::size_t k = 0; k < n; ++k) {
          at[k + 1] = i[k + 1] * g.strides[k] + i[n + 2 + k] * g.dilations[k];
        }
        windows[flat(i, view)] = doubles(x)[flat(at, whole)];
        folded[flat(at, whole)] += doubles(y)[flat(i, view)];
      } while (advance(i, view));
    }
    const Value a = placeholder(type_of(x)), b = placeholder(type_of(y));
    const Value w =
        ir::window(a, {axes, as_dims(positions), as_dims(g.windows), g.strides, g.dilations});
    const Value f = ir::fold(b, {axes, as_dims(padded), g.strides, g.dilations});
    const auto results = evaluate({a, b}, {w, f}, {x, y});
    check_close(results[0], windows, 0);
    check_close(results[1], folded, 1e-14);
  }
}

TEST_CASE("convolution: operands that do not fit are rejected") {
  const Value x = placeholder({DType::Float32, {2, 5, 4}});
  const Value w = placeholder({DType::Float32, {3, 2, 6}});
  const auto conv = [&](const Value& input, const Value& filter, std::int64_t positions,
                        std::int64_t groups) {
    const ir::ConvAttrs attrs{.role = ConvRole::Output,
                              .strides = {1},
                              .dilations = {1},
                              .low = {0},
                              .high = {0},
                              .sizes = {positions},
                              .groups = groups};
    return ir::make(Op::Conv, attrs, {input, filter});
  };
  CHECK(conv(x, w, 3, 2).dims() == Dims{2, 3, 6});
  CHECK_THROWS_WITH(conv(x, w, 4, 2),
                    "conv: a kernel of 3 at 4 positions does not fit into 5 elements with 0 and 0 "
                    "of padding (first float32[2,5,4], second float32[3,2,6])");
  CHECK_THROWS_WITH(conv(x, w, 3, 1),
                    "conv: the input has 4 channels, the kernel takes 2 (first float32[2,5,4], "
                    "second float32[3,2,6])");
  const Value odd = placeholder({DType::Float32, {3, 2, 5}});
  CHECK_THROWS_AS(conv(x, odd, 3, 2), ValueError);
  CHECK_THROWS_AS(conv(x, w, 3, 0), ValueError);
  CHECK_THROWS_AS(conv(x, w, -1, 2), ValueError);
  CHECK_THROWS_AS(conv(x, placeholder({DType::Float64, {3, 2, 6}}), 3, 2), TypeError);
  CHECK_THROWS_AS(conv(x, placeholder({DType::Float32, {2, 6}}), 3, 2), ValueError);
}
