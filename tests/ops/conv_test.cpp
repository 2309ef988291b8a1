// Convolutions, windows and folds of many geometries against plain loops over indices, in each
// role: strides, dilations, paddings, groups, empty and size-1 dims, every kind of dtype.
#include "tests/catch.h"
#include "tests/ops/evaluate.h"

#include "core/autodiff/vjp.h"
#include "core/ops/build.h"

#include <kiln/error.h>

using namespace kiln;
using namespace kiln::test;
using ir::ConvRole;
using ir::Dims;
using ir::Op;
using ir::Value;
using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

namespace {

struct Geometry {
  std::int64_t batch, groups, channels, filters;  // channels and filters of one group
  Ints sizes, windows, strides, dilations, low, high;

  Ints places() const {
    Ints places;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t width = (windows[i] - 1) * dilations[i] + 1;
      const std::int64_t room = sizes[i] + low[i] + high[i] - width;
      places.push_back(room < 0 ? 0 : room / strides[i] + 1);
    }
    return places;
  }
};

const Geometry kGeometries[] = {
    {2, 1, 3, 4, {5}, {3}, {1}, {1}, {0}, {0}},
    {2, 1, 3, 4, {6}, {3}, {2}, {1}, {0}, {1}},
    {1, 1, 1, 1, {7}, {2}, {1}, {3}, {3}, {0}},
    {2, 1, 2, 3, {9}, {2}, {3}, {2}, {1}, {2}},
    {3, 2, 2, 3, {5}, {3}, {1}, {1}, {1}, {1}},
    {2, 4, 1, 2, {6}, {2}, {2}, {1}, {0}, {0}},
    {2, 1, 3, 2, {4, 5}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 1}},
    {1, 1, 2, 2, {7, 6}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}},
    {2, 3, 1, 1, {5, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {1, 0}},
    {2, 2, 2, 1, {6, 5}, {1, 3}, {3, 1}, {1, 1}, {0, 1}, {0, 1}},
    {1, 1, 1, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 1, 2, 2, {3, 4, 3}, {2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1}, {1, 0, 1}},
    {2, 2, 1, 2, {2, 3, 2}, {2, 1, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 0}},
    {0, 1, 2, 2, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 0, 2, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 0, {4}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 2, {0}, {2}, {1}, {1}, {0}, {0}},
    {2, 1, 2, 3, {}, {}, {}, {}, {}, {}},
};

Ints concat(Ints first, const Ints& middle, const Ints& last) {
  first.insert(first.end(), middle.begin(), middle.end());
  first.insert(first.end(), last.begin(), last.end());
  return first;
}
Dims as_dims(const Ints& sizes) { return Dims(sizes.begin(), sizes.end()); }

Ints input_dims(const Geometry& g) {
  return concat({g.batch}, g.sizes, {g.groups * g.channels});
}
Ints kernel_dims(const Geometry& g) {
  return concat({}, g.windows, {g.channels, g.groups * g.filters});
}
Ints output_dims(const Geometry& g) {
  return concat({g.batch}, g.places(), {g.groups * g.filters});
}

std::size_t count_of(const Ints& dims) {
  std::int64_t count = 1;
  for (std::int64_t dim : dims) count *= dim;
  return static_cast<std::size_t>(count);
}
std::size_t flat(const Ints& index, const Ints& dims) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) place = place * dims[i] + index[i];
  return static_cast<std::size_t>(place);
}
bool advance(Ints& index, const Ints& dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

/// Calls visit(input element, kernel element, output element) for each product.
template <class Visit>
void for_each_product(const Geometry& g, const Visit& visit) {
  const std::size_t n = g.sizes.size();
  const Ints dims = concat(concat({g.batch}, g.places(), {}), g.windows,
                           {g.groups, g.channels, g.filters});
  if (count_of(dims) == 0) return;
  Ints i(dims.size(), 0);
  do {
    const Ints place(i.begin() + 1, i.begin() + 1 + static_cast<long>(n));
    const Ints window(i.begin() + 1 + static_cast<long>(n), i.end() - 3);
    const std::int64_t group = i[dims.size() - 3], channel = i[dims.size() - 2];
    const std::int64_t filter = group * g.filters + i.back();
    Ints at;
    bool inside = true;
    for (std::size_t k = 0; k < n; ++k) {
      at.push_back(place[k] * g.strides[k] + window[k] * g.dilations[k] - g.low[k]);
      inside = inside && at[k] >= 0 && at[k] < g.sizes[k];
    }
    if (!inside) continue;
    visit(flat(concat({i[0]}, at, {group * g.channels + channel}), input_dims(g)),
          flat(concat({}, window, {channel, filter}), kernel_dims(g)),
          flat(concat({i[0]}, place, {filter}), output_dims(g)));
  } while (advance(i, dims));
}

ir::ConvAttrs attrs_of(const Geometry& g, ConvRole role) {
  const Ints places = g.places();
  const Ints& sizes = role == ConvRole::Input    ? g.sizes
                      : role == ConvRole::Kernel ? g.windows
                                                 : places;
  return {static_cast<std::int64_t>(role), g.strides, g.dilations, as_dims(g.low),
          as_dims(g.high), as_dims(sizes), g.groups};
}

struct Tensors {
  Array input, kernel, output;
};
Tensors draw(const Geometry& g, DType dtype) {
  std::mt19937_64 generator(count_of(kernel_dims(g)));
  const bool whole = !is_float(dtype);
  const auto of = [&](const Ints& dims) {
    return random_array(generator, {dtype, as_dims(dims)}, whole ? -4 : -1, whole ? 5 : 1);
  };
  return {of(input_dims(g)), of(kernel_dims(g)), of(output_dims(g))};
}

Doubles by_loops(const Geometry& g, const Tensors& t, ConvRole role) {
  const Doubles x = doubles(t.input), w = doubles(t.kernel), y = doubles(t.output);
  Doubles result(role == ConvRole::Input    ? x.size()
                 : role == ConvRole::Kernel ? w.size()
                                            : y.size());
  for_each_product(g, [&](std::size_t i, std::size_t k, std::size_t o) {
    if (role == ConvRole::Input) result[i] += w[k] * y[o];
    if (role == ConvRole::Kernel) result[k] += x[i] * y[o];
    if (role == ConvRole::Output) result[o] += x[i] * w[k];
  });
  return result;
}

void check_close(const Array& actual, const Doubles& expected, double tolerance) {
  const Doubles values = doubles(actual);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
  }
}

void check_role(const Geometry& g, DType dtype, ConvRole role, double tolerance) {
  const Tensors t = draw(g, dtype);
  std::vector<Array> feeds;
  if (role != ConvRole::Input) feeds.push_back(t.input);
  if (role != ConvRole::Kernel) feeds.push_back(t.kernel);
  if (role != ConvRole::Output) feeds.push_back(t.output);
  const std::vector<Value> x{placeholder(type_of(feeds[0])), placeholder(type_of(feeds[1]))};
  const Value result = ir::make(Op::Conv, attrs_of(g, role), x);
  check_close(evaluate(x, {result}, feeds)[0], by_loops(g, t, role), tolerance);
}

}  // namespace

TEST_CASE("convolutions agree with plain loops in every role") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    for (const ConvRole role : {ConvRole::Input, ConvRole::Kernel, ConvRole::Output}) {
      INFO("role " << static_cast<int>(role));
      check_role(g, DType::Float64, role, 1e-12);
      check_role(g, DType::Float32, role, 1e-5);
      check_role(g, DType::Float16, role, 1e-2);
      check_role(g, DType::BFloat16, role, 1e-1);
      check_role(g, DType::Int32, role, 0);
    }
  }
}

TEST_CASE("gradients of convolutions are convolutions of the other roles") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    const Tensors t = draw(g, DType::Float64);
    const std::vector<Value> x{placeholder(type_of(t.input)), placeholder(type_of(t.kernel))};
    const Value dy = placeholder(type_of(t.output));
    const Value y = ir::make(Op::Conv, attrs_of(g, ConvRole::Output), x);
    const std::vector<Value> dx = autodiff::vjp({&y, 1}, {&dy, 1}, x).dx;
    REQUIRE(dx[0].node->op == Op::Conv);
    REQUIRE(dx[1].node->op == Op::Conv);
    const auto results = evaluate({x[0], x[1], dy}, dx, {t.input, t.kernel, t.output});
    check_close(results[0], by_loops(g, t, ConvRole::Input), 1e-12);
    check_close(results[1], by_loops(g, t, ConvRole::Kernel), 1e-12);
    // The gradient of a gradient is the convolution itself.
    const Value back = ir::make(Op::Conv, dx[0].node->attrs, {x[1], dy});
    const Value cotangent = x[0];
    const std::vector<Value> wanted{x[1], dy};
    const auto second = autodiff::vjp({&back, 1}, {&cotangent, 1}, wanted).dx;
    CHECK(second[1] == y);
    CHECK(second[0] == dx[1]);
  }
}

TEST_CASE("windows and folds agree with plain loops") {
  for (const Geometry& g : kGeometries) {
    INFO("geometry " << &g - kGeometries);
    const std::size_t n = g.sizes.size();
    Ints padded, axes;
    for (std::size_t i = 0; i < n; ++i) {
      padded.push_back(g.low[i] + g.sizes[i] + g.high[i]);
      axes.push_back(static_cast<std::int64_t>(i) + 1);
    }
    const Ints places = g.places();
    const Ints whole = concat({2}, padded, {3});
    const Ints view = concat({2}, places, concat({3}, g.windows, {}));
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
    const Value w = ir::window(a, {axes, as_dims(places), as_dims(g.windows), g.strides,
                                   g.dilations});
    const Value f = ir::fold(b, {axes, as_dims(padded), g.strides, g.dilations});
    const auto results = evaluate({a, b}, {w, f}, {x, y});
    check_close(results[0], windows, 0);
    check_close(results[1], folded, 1e-14);
  }
}

TEST_CASE("convolutions that do not fit are refused") {
  const Value x = placeholder({DType::Float32, {2, 5, 4}});
  const Value w = placeholder({DType::Float32, {3, 2, 6}});
  const auto conv = [&](const Value& input, const Value& kernel, std::int64_t places,
                        std::int64_t groups) {
    return ir::make(Op::Conv,
                    ir::ConvAttrs{static_cast<std::int64_t>(ConvRole::Output), {1}, {1}, {0}, {0},
                                  {places}, groups},
                    {input, kernel});
  };
  CHECK(conv(x, w, 3, 2).dims() == Dims{2, 3, 6});
  CHECK_THROWS_WITH(conv(x, w, 4, 2),
                    "conv: a kernel of 3 at 4 places leaves 5 elements with 0 and 0 of padding "
                    "(first float32[2,5,4], second float32[3,2,6])");
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
