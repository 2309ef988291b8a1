// Compares pads and folds of many geometries with plain loops: interior and exterior padding,
// strides and dilations of windows alone and together, one to three axes, sizes 0 and 1, every
// numeric kind. Backends must read the operand only where indices are inside.
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"
#include "tests/core/ops/non_finite.h"

#include "core/ops/build.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace kiln;
using namespace kiln::test;
using ir::Ints;
using ir::Value;

namespace {

using Doubles = std::vector<double>;

std::int64_t count_of(const Ints& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

ir::Dims as_dims(const Ints& sizes) { return {sizes.begin(), sizes.end()}; }

/// Calls visit(index) for every index below `dims`, in order.
template <class Visit>
void every_index(const Ints& dims, const Visit& visit) {
  Ints index(dims.size(), 0);
  for (std::int64_t left = count_of(dims); left > 0; --left) {
    visit(index);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

std::size_t linear_index(const Ints& index, const Ints& dims) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) number = number * dims[i] + index[i];
  return at(number);
}

struct Padding {
  Ints dims, low, high, interior;
};
const Padding kPaddings[] = {
    {{5}, {2}, {3}, {0}},
    {{40}, {0}, {5}, {0}},
    {{40}, {17}, {0}, {0}},
    {{0}, {2}, {1}, {0}},
    {{0}, {1}, {0}, {2}},
    {{1}, {0}, {0}, {3}},
    {{7}, {0}, {0}, {1}},
    {{7}, {3}, {2}, {2}},
    {{40}, {1}, {1}, {1}},
    {{3, 37}, {1, 2}, {0, 3}, {0, 0}},
    {{3, 37}, {1, 5}, {2, 4}, {1, 2}},
    {{1, 20}, {2, 0}, {1, 0}, {0, 0}},
    {{2, 5, 6, 3}, {0, 1, 2, 0}, {0, 2, 1, 0}, {0, 0, 0, 0}},
    {{2, 5, 6, 20}, {0, 1, 2, 0}, {0, 2, 1, 0}, {0, 1, 2, 0}},
    {{2, 3, 5, 18}, {1, 0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 0}},
    {{3, 4, 1}, {0, 2, 0}, {0, 2, 0}, {0, 1, 0}},
};

Ints padded(const Padding& p) {
  Ints dims;
  for (std::size_t i = 0; i < p.dims.size(); ++i) {
    const std::int64_t gaps = std::max<std::int64_t>(p.dims[i] - 1, 0) * p.interior[i];
    dims.push_back(p.low[i] + p.dims[i] + gaps + p.high[i]);
  }
  return dims;
}

Doubles pad_by_loops(const Padding& p, const Doubles& x, double value) {
  const Ints dims = padded(p);
  Doubles y(at(count_of(dims)), value);
  every_index(p.dims, [&](const Ints& index) {
    Ints to;
    for (std::size_t i = 0; i < index.size(); ++i) {
      to.push_back(p.low[i] + index[i] * (p.interior[i] + 1));
    }
    y[linear_index(to, dims)] = x[linear_index(index, p.dims)];
  });
  return y;
}

struct Windows {
  Ints dims;  // of the result
  Ints axes, counts, sizes, strides, dilations;
};
const Windows kWindows[] = {
    {{9}, {0}, {7}, {3}, {1}, {1}},  // overlapping
    {{9}, {0}, {4}, {3}, {2}, {1}},
    {{11}, {0}, {4}, {3}, {2}, {1}},  // elements behind the last window
    {{9}, {0}, {3}, {3}, {3}, {1}},   // tiles
    {{10}, {0}, {3}, {3}, {3}, {1}},
    {{12}, {0}, {3}, {2}, {4}, {1}},  // gaps
    {{40}, {0}, {5}, {16}, {5}, {1}},
    {{300}, {0}, {9}, {40}, {20}, {1}},  // many phases
    {{30}, {0}, {4}, {3}, {2}, {5}},     // strides and dilations
    {{40}, {0}, {4}, {4}, {3}, {2}},
    {{50}, {0}, {4}, {5}, {4}, {6}},  // with a common divisor
    {{60}, {0}, {6}, {4}, {6}, {4}},
    {{30}, {0}, {6}, {3}, {3}, {6}},
    {{9}, {0}, {5}, {3}, {1}, {2}},
    {{8}, {0}, {8}, {1}, {1}, {1}},
    {{8}, {0}, {4}, {1}, {2}, {1}},
    {{1}, {0}, {1}, {1}, {2}, {1}},
    {{5}, {0}, {0}, {3}, {2}, {1}},  // no windows
    {{5}, {0}, {2}, {0}, {2}, {1}},  // of no elements
    {{0}, {0}, {0}, {2}, {2}, {1}},
    {{2, 9, 8, 5}, {1, 2}, {4, 3}, {3, 3}, {2, 2}, {1, 1}},  // images, channels last
    {{2, 9, 8, 20}, {1, 2}, {4, 4}, {3, 2}, {2, 2}, {1, 1}},
    {{2, 3, 9, 8}, {2, 3}, {4, 3}, {3, 3}, {2, 2}, {1, 1}},  // channels first
    {{2, 3, 9, 40}, {2, 3}, {7, 19}, {3, 3}, {1, 2}, {1, 1}},
    {{2, 9, 8, 1}, {1, 2}, {7, 3}, {3, 3}, {1, 2}, {1, 1}},
    {{1, 7, 6, 5, 3}, {1, 2, 3}, {3, 2, 3}, {2, 3, 3}, {2, 3, 1}, {1, 1, 1}},
    {{7, 6, 5}, {0, 2}, {3, 2}, {3, 2}, {2, 2}, {1, 2}},
};

Ints viewed(const Windows& w) {
  Ints dims = w.dims;
  for (std::size_t i = 0; i < w.axes.size(); ++i) dims[at(w.axes[i])] = w.counts[i];
  dims.insert(dims.end(), w.sizes.begin(), w.sizes.end());
  return dims;
}

Doubles fold_by_loops(const Windows& w, const Doubles& x) {
  Doubles y(at(count_of(w.dims)), 0.0);
  const Ints view = viewed(w);
  every_index(view, [&](const Ints& index) {
    Ints to(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(w.dims.size()));
    for (std::size_t i = 0; i < w.axes.size(); ++i) {
      std::int64_t& entry = to[at(w.axes[i])];
      entry = entry * w.strides[i] + index[w.dims.size() + i] * w.dilations[i];
    }
    y[linear_index(to, w.dims)] += x[linear_index(index, view)];
  });
  return y;
}

Value fold(const Value& x, const Windows& w) {
  Ints sizes;
  for (const std::int64_t axis : w.axes) sizes.push_back(w.dims[at(axis)]);
  return ir::fold(x, {w.axes, as_dims(sizes), w.strides, w.dilations});
}

Value pad(const Value& x, const Value& value, const Padding& p) {
  return ir::pad(x, value, as_dims(p.low), as_dims(p.high), p.interior);
}

void check_same(const Array& actual, const Doubles& expected) {
  const Doubles values = doubles(actual);
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " for " << expected[i]);
    CHECK((values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i]))));
  }
}

Array whole_numbers(std::mt19937_64& generator, DType dtype, const Ints& dims, double bound) {
  const double low = dtype == DType::UInt8 ? 0 : -bound;
  const Array x = random_array(generator, {DType::Float64, as_dims(dims)}, low, bound);
  return x.astype(DType::Int32).astype(dtype);
}

const DType kNumbers[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16,
                          DType::Int8,    DType::Int32,   DType::UInt8,   DType::Int64};

}  // namespace

TEST_CASE("pad: agrees with plain loops, for any padding value") {
  std::mt19937_64 generator(1);
  for (const Padding& p : kPaddings) {
    INFO("padding " << &p - kPaddings);
    for (const DType dtype : kNumbers) {
      INFO(dtype_name(dtype));
      const Array data = whole_numbers(generator, dtype, p.dims, 100);
      for (const double around : {0.0, 7.0}) {
        const Value x = placeholder(type_of(data)), value = ir::scalar_constant(dtype, around);
        // With a consumer, and with a value that is not a constant.
        const Value v = placeholder({dtype, {}});
        const Value y = pad(x, value, p);
        const auto results =
            evaluate({x, v}, {y, y + y, pad(x, v, p)}, {data, Array::full({}, 9, dtype)});
        const Doubles expected = pad_by_loops(p, doubles(data), around);
        check_same(results[0], expected);
        if (is_float(dtype)) {
          Doubles twice = expected;
          for (double& number : twice) number *= 2;
          check_same(results[1], twice);
        }
        check_same(results[2], pad_by_loops(p, doubles(data), 9));
      }
    }
  }
}

TEST_CASE("fold: agrees with plain loops") {
  std::mt19937_64 generator(2);
  for (const Windows& w : kWindows) {
    INFO("windows " << &w - kWindows);
    for (const DType dtype : kNumbers) {
      INFO(dtype_name(dtype));
      const bool few_bits = dtype == DType::BFloat16 || dtype == DType::Float16;
      const Array data = whole_numbers(generator, dtype, viewed(w), few_bits ? 5 : 10);
      const Value x = placeholder(type_of(data));
      // From memory, computed in the same kernel, and with a consumer.
      const Value zero = ir::scalar_constant(dtype, 0);
      const Value chosen = ir::select(ir::less(ir::broadcast_to(zero, x.dims()), x), x,
                                      ir::broadcast_to(zero, x.dims()));
      const Value y = fold(x, w);
      const auto results = evaluate({x}, {y, fold(chosen, w), y + y}, {data});
      const Doubles values = doubles(data);
      Doubles positive = values, expected = fold_by_loops(w, values);
      for (double& number : positive) number = std::max(number, 0.0);
      check_same(results[0], expected);
      check_same(results[1], fold_by_loops(w, positive));
      for (double& number : expected) number *= 2;
      check_same(results[2], expected);
    }
  }
}

TEST_CASE("fold: integers wrap") {
  const Windows w{{3}, {0}, {2}, {2}, {1}, {1}};
  const Value x = placeholder({DType::Int8, {2, 2}});
  const Array data = Array::full({2, 2}, 100, DType::Int8);
  check_same(evaluate({x}, {fold(x, w)}, {data})[0], {100, -56, 100});
}

TEST_CASE("fold: elements that no window covers are 0, whatever values lie around") {
  for (const double odd : {kNan, kInf, -kInf}) {
    const Windows w{{7}, {0}, {2}, {2}, {3}, {1}};
    const Value x = placeholder({DType::Float32, {2, 2}});
    const Array data = Array::full({2, 2}, odd);
    // 1 / x is infinite where a guarded load gives 0.
    const Value one = ir::broadcast_to(ir::scalar_constant(DType::Float32, 1), {2, 2});
    const auto results = evaluate({x}, {fold(x, w), fold(one / (x - x), w)}, {data});
    check_same(results[0], {odd, odd, 0, odd, odd, 0, 0});
    check_same(results[1], {kNan, kNan, 0, kNan, kNan, 0, 0});
    const Value flat = placeholder({DType::Float32, {2}});
    const Array pair = Array(Doubles{odd, 1}).astype(DType::Float32);
    const Value padded = ir::pad(flat, ir::scalar_constant(DType::Float32, 5), {2}, {1}, {1});
    check_same(evaluate({flat}, {padded}, {pair})[0], {5, 5, odd, 5, 1, 5});
  }
}
