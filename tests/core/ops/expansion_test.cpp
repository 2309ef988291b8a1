// Compares the expansion of every composite, evaluated on `reference` without any pass, with plain
// loops over the elements: every dtype, special values, empty and size-1 dims.
#include "tests/support/catch.h"
#include "tests/core/ops/attention_loops.h"
#include "tests/core/ops/conv_loops.h"
#include "tests/core/ops/non_finite.h"

#include "core/ops/op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace kiln;
using namespace kiln::test;
using ir::Op;
using ir::Value;

namespace {

double tolerance_of(DType dtype) {
  if (dtype == DType::Float64) return 1e-12;
  if (dtype == DType::Float32) return 1e-5;
  if (dtype == DType::Float16) return 1e-2;
  return dtype == DType::BFloat16 ? 1e-1 : 0;
}

void check_close(const Array& actual, const Doubles& expected) {
  const Doubles values = doubles(actual);
  const double tolerance = tolerance_of(actual.dtype());
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": " << values[i] << " for " << expected[i]);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(values[i]));
    } else if (std::isinf(expected[i])) {
      CHECK(values[i] == expected[i]);
    } else {
      CHECK(values[i] == Approx(expected[i]).epsilon(tolerance).margin(tolerance));
    }
  }
}

/// The results of the op's expansion of those operands on the oracle.
std::vector<Array> all_expanded(Op op, const ir::Attrs& attrs, const std::vector<Array>& feeds) {
  std::vector<Value> x;
  for (const Array& feed : feeds) x.push_back(placeholder(type_of(feed)));
  const ir::NodeRef node = ir::make_node(op, attrs, x);
  const std::vector<Value> y = ir::def(op).expand(*node, x);
  REQUIRE(y.size() == node->types.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    CHECK(y[i].node->op != op);
    CHECK(y[i].type() == node->types[i]);
  }
  return evaluate(x, y, feeds, "reference", false);
}
Array expanded(Op op, const ir::Attrs& attrs, const std::vector<Array>& feeds) {
  const std::vector<Array> results = all_expanded(op, attrs, feeds);
  REQUIRE(results.size() == 1);
  return results[0];
}

/// Random elements; then the same with every third element replaced by a special value.
std::vector<Array> operands_with_specials(const Ints& dims, DType dtype) {
  std::mt19937_64 generator(dims.size() + 1);
  const Array plain = random_array(generator, {dtype, as_dims(dims)}, -3, 3);
  std::vector<Array> all{plain};
  for (const Doubles& specials :
       {Doubles{kNan}, {kInf}, {-kInf}, {kInf, -kInf}, {0.0, -0.0}, {-kInf, kNan}, {1e4, -1e4}}) {
    Array wide = plain.astype(DType::Float64);
    std::size_t next = 0;
    const auto elements = wide.as<double>();
    for (std::size_t i = 0; i < elements.size(); i += 3) {
      elements[i] = specials[next++ % specials.size()];
    }
    all.push_back(wide.astype(dtype));
  }
  return all;
}

const Ints kShapes[] = {{4},    {1},    {0},       {2, 5},    {5, 1},   {1, 5},
                        {0, 3}, {3, 0}, {2, 3, 4}, {2, 1, 3}, {2, 0, 3}};

/// Calls visit(indices of the elements that differ in `axes` alone) for each other index.
template <class Visit>
void for_each_line(const Ints& dims, const Ints& axes, const Visit& visit) {
  Ints outer = dims, inner(dims.size(), 1);
  for (const std::int64_t axis : axes) {
    std::swap(outer[static_cast<std::size_t>(axis)], inner[static_cast<std::size_t>(axis)]);
  }
  if (count_of(outer) == 0) return;
  Ints at(dims.size(), 0);
  do {
    std::vector<std::size_t> line;
    Ints within(dims.size(), 0);
    if (count_of(inner) != 0) {
      do {
        Ints both = at;
        for (std::size_t i = 0; i < both.size(); ++i) both[i] += within[i];
        line.push_back(flat(both, dims));
      } while (advance(within, inner));
    }
    visit(line);
  } while (advance(at, outer));
}

double largest(const Doubles& x, const std::vector<std::size_t>& line) {
  double found = -kInf;
  for (const std::size_t i : line) found = std::isnan(x[i]) || x[i] > found ? x[i] : found;
  for (const std::size_t i : line) found = std::isnan(x[i]) ? kNan : found;
  return found;
}

Doubles softmax(const Doubles& x, const Ints& dims, std::int64_t axis, bool logarithm) {
  Doubles y(x.size());
  for_each_line(dims, {axis}, [&](const std::vector<std::size_t>& line) {
    const double top = largest(x, line);
    double sum = 0;
    for (const std::size_t i : line) sum += std::exp(x[i] - top);
    for (const std::size_t i : line) {
      y[i] = logarithm ? x[i] - top - std::log(sum) : std::exp(x[i] - top) / sum;
    }
  });
  return y;
}

Doubles variance(const Doubles& x, const Ints& dims, const Ints& axes) {
  Doubles y;
  for_each_line(dims, axes, [&](const std::vector<std::size_t>& line) {
    const auto count = static_cast<double>(line.size());
    double sum = 0, squares = 0;
    for (const std::size_t i : line) sum += x[i];
    for (const std::size_t i : line) squares += (x[i] - sum / count) * (x[i] - sum / count);
    y.push_back(squares / count);
  });
  return y;
}

/// Calls visit(dims, operand) for every float dtype, shape and kind of special values.
template <class Visit>
void for_each_float_operand(const Visit& visit) {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    for (const Ints& dims : kShapes) {
      for (const Array& x : operands_with_specials(dims, dtype)) {
        INFO(x);
        visit(dims, x);
      }
    }
  }
}

void check_softmax(Op op) {
  for_each_float_operand([&](const Ints& dims, const Array& x) {
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(dims.size()); ++axis) {
      INFO("axis " << axis);
      check_close(expanded(op, ir::AxisAttrs{axis}, {x}),
                  softmax(doubles(x), dims, axis, op == Op::LogSoftmax));
    }
  });
}

void check_variance() {
  for_each_float_operand([](const Ints& dims, const Array& x) {
    for (std::size_t subset = 0; subset < std::size_t{1} << dims.size(); ++subset) {
      Ints axes;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (subset >> i & 1) axes.push_back(static_cast<std::int64_t>(i));
      }
      // The squares of the largest elements are out of range of float16.
      const Doubles elements = doubles(x);
      const bool overflows =
          x.dtype() == DType::Float16 && std::count(elements.begin(), elements.end(), 1e4) != 0;
      if (overflows) continue;
      INFO("subset of axes " << subset);
      check_close(expanded(Op::Variance, ir::AxesAttrs{axes}, {x}), variance(elements, dims, axes));
    }
  });
}

/// Puts special values into the input, or the upstream gradient. A special filter element would be
/// multiplied by zeros of the padding, which the loops leave out.
void add_specials(ConvTensors& t, DType dtype, ConvRole role) {
  Array& special = role == ConvRole::Input ? t.output : t.input;
  Array wide = special.astype(DType::Float64);
  const double values[] = {kNan, kInf, -kInf};
  std::size_t next = 0;
  const auto elements = wide.as<double>();
  for (std::size_t i = 0; i < elements.size(); i += 5) elements[i] = values[next++ % 3];
  special = wide.astype(dtype);
}

/// Integers modulo the width of the dtype.
Doubles wrapped(Doubles values, DType dtype) {
  if (dtype != DType::Int8) return values;
  for (double& value : values) value = static_cast<std::int8_t>(static_cast<std::int64_t>(value));
  return values;
}

void check_conv() {
  for (const Geometry& g : kGeometries) {
    for (const ConvRole role : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
      for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16,
                                DType::Int32, DType::Int8}) {
        INFO("geometry " << &g - kGeometries << ", role " << static_cast<int>(role) << " of "
                         << dtype_name(dtype));
        ConvTensors t = draw(g, dtype);
        check_close(expanded(Op::Conv, attrs_of(g, role), operands_of(t, role)),
                    wrapped(by_loops(g, t, role), dtype));
        if (!is_float(dtype)) continue;
        add_specials(t, dtype, role);
        check_close(expanded(Op::Conv, attrs_of(g, role), operands_of(t, role)),
                    by_loops(g, t, role));
      }
    }
  }
}

void check_require() {
  for (int i = 0; i < kDTypeCount; ++i) {
    for (const Ints& dims : kShapes) {
      std::mt19937_64 generator(3);
      const Array x = random_array(generator, {static_cast<DType>(i), as_dims(dims)}, 0, 3);
      const ir::RequireAttrs attrs{
          .kind = ir::Guard::Kind::Equal, .left = 2, .right = 2, .message = "equal"};
      CHECK(expanded(Op::Require, attrs, {x}) == x);
    }
  }
}

void check_scale_gradient() {
  for_each_float_operand([](const Ints& dims, const Array& x) {
    check_close(expanded(Op::ScaleGradient, ir::NoAttrs{}, {x, Array::full(dims, 2)}), doubles(x));
  });
}

/// x - rate * (the sum of the updates of each row).
Doubles scatter_sub(const Array& x, double rate, const Ints& indices, const Array& updates) {
  Doubles y = doubles(x);
  const Doubles added = doubles(updates);
  Doubles sums(y.size(), 0.0);
  const std::size_t columns = indices.empty() ? 0 : added.size() / indices.size();
  for (std::size_t i = 0; i < added.size(); ++i) {
    sums[static_cast<std::size_t>(indices[i / columns]) * columns + i % columns] += added[i];
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] -= rate * sums[i];
  return y;
}

void check_scatter_sub() {
  for_each_float_operand([](const Ints& dims, const Array& x) {
    Ints indices;
    if (dims[0] > 0) indices = {dims[0] - 1, 0, dims[0] - 1};
    Ints rows = dims;
    rows[0] = static_cast<std::int64_t>(indices.size());
    std::mt19937_64 generator(7);
    const Array updates = random_array(generator, {x.dtype(), as_dims(rows)}, -1, 1);
    for (const double rate : {0.5, -2.0, 0.0, kInf, kNan}) {
      INFO("rate " << rate);
      const Array scalar = Array::full({}, rate, x.dtype());
      const Array chosen = Array(indices).astype(DType::Int32);
      check_close(expanded(Op::ScatterSub, ir::NoAttrs{}, {x, scalar, chosen, updates}),
                  scatter_sub(x, rate, indices, updates));
    }
  });
}

/// Of one rank; tests/distributed/collectives has groups.
void check_collective() {
  for_each_float_operand([](const Ints&, const Array& x) {
    check_close(expanded(Op::Collective, ir::CollectiveAttrs{}, {x}), doubles(x));
  });
}

/// The order of a line, NaN as the largest.
std::vector<std::size_t> sorted(const Doubles& x, const std::vector<std::size_t>& line,
                                bool descending) {
  std::vector<std::size_t> order(line.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto is_less = [&](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const double a = x[line[i]], b = x[line[j]];
    return descending ? is_less(b, a) : is_less(a, b);
  });
  return order;
}

void check_sorted(const Array& x, const Ints& dims, std::int64_t axis, bool descending) {
  const Doubles elements = doubles(x);
  Doubles expected(elements.size());
  for_each_line(dims, {axis}, [&](const std::vector<std::size_t>& line) {
    const std::vector<std::size_t> order = sorted(elements, line, descending);
    for (std::size_t i = 0; i < line.size(); ++i) {
      expected[line[i]] = static_cast<double>(order[i]);
    }
  });
  CHECK(doubles(expanded(Op::ArgSort, ir::SortAttrs{axis, descending}, {x})) == expected);
}

void check_arg_sort() {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Ints& dims : kShapes) {
      for (const Array& x : operands_with_specials(dims, dtype)) {
        INFO(dtype_name(dtype) << " of rank " << dims.size());
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
          check_sorted(x, dims, static_cast<std::int64_t>(axis), false);
          check_sorted(x, dims, static_cast<std::int64_t>(axis), true);
        }
      }
    }
  }
}

/// Sizes of an attention, with two batches, and of which axes its bias has.
struct AttentionForm {
  std::int64_t t, s, d, e;
  bool divides, causal;
  Ints bias;  // dims; empty: none
};

const AttentionForm kAttentionForms[] = {
    {3, 4, 2, 5, false, false, {}},        {4, 3, 1, 2, true, true, {2, 4, 3}},
    {3, 3, 2, 1, false, true, {1, 1, 3}},  {2, 5, 3, 2, true, false, {2, 2, 1}},
    {1, 4, 2, 2, false, false, {1, 1, 1}}, {0, 3, 2, 2, false, false, {2, 0, 3}},
    {2, 3, 2, 0, false, false, {}},
};

/// The elements of a bias at each of the scores (2, t, s).
Doubles stretched(const Doubles& bias, const Ints& dims, std::int64_t t, std::int64_t s) {
  Doubles all;
  for (std::int64_t i = 0; i < 2 * t * s; ++i) {
    const std::int64_t at[3] = {i / (t * s), i / s % t, i % s};
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      from = from * dims[axis] + (dims[axis] == 1 ? 0 : at[axis]);
    }
    all.push_back(bias[static_cast<std::size_t>(from)]);
  }
  return all;
}

/// The sum of those elements at each of the bias' own.
Doubles shrunk(const Doubles& all, const Ints& dims, std::int64_t t, std::int64_t s) {
  Doubles numbers(static_cast<std::size_t>(dims[0] * dims[1] * dims[2]));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const Doubles at = stretched(numbers, dims, t, s);
  Doubles sums(numbers.size(), 0.0);
  for (std::size_t i = 0; i < at.size(); ++i) sums[static_cast<std::size_t>(at[i])] += all[i];
  return sums;
}

/// `masked`: scores of the first query's keys but one, then of all keys of the second, are -inf.
void check_attention_of(const AttentionForm& form, DType dtype, bool masked) {
  std::mt19937_64 generator(3);
  const auto random = [&](const Ints& dims) {
    return random_array(generator, {dtype, as_dims(dims)}, -1, 1);
  };
  const auto [t, s, d, e, divides, causal, dims] = form;
  std::vector<Array> feeds{random({2, t, d}), random({2, s, d}), random({2, s, e}),
                           Array::full({}, divides ? 2 : 0.5, dtype)};
  if (!dims.empty()) {
    Array bias = random(dims).astype(DType::Float64);
    const auto elements = bias.as<double>();
    for (std::size_t i = 0; masked && i < elements.size(); ++i) {
      if (i > 0 && i < static_cast<std::size_t>(2 * s)) elements[i] = -kInf;
    }
    feeds.push_back(bias.astype(dtype));
  }
  AttentionLoops loops{2,
                       t,
                       s,
                       d,
                       e,
                       divides,
                       causal,
                       doubles(feeds[0]),
                       doubles(feeds[1]),
                       doubles(feeds[2]),
                       divides ? 2 : 0.5,
                       {}};
  if (!dims.empty()) loops.bias = stretched(doubles(feeds[4]), dims, t, s);
  const ir::AttentionAttrs attrs{divides, causal};
  const std::vector<Array> results = all_expanded(Op::Attention, attrs, feeds);
  const AttentionLoops::Results expected = loops.forward();
  check_close(results[0], expected.o);
  check_close(results[1], expected.lse);
  const Array d_result = random({2, t, e});
  feeds.insert(feeds.end(), {results[0], results[1], d_result});
  const std::vector<Array> dx = all_expanded(Op::AttentionGradient, attrs, feeds);
  const AttentionLoops::Gradients gradients = loops.backward(doubles(d_result));
  check_close(dx[0], gradients.q);
  check_close(dx[1], gradients.k);
  check_close(dx[2], gradients.v);
  if (!dims.empty()) check_close(dx[3], shrunk(gradients.bias, dims, t, s));
}

void check_attention() {
  for (const DType dtype : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16}) {
    for (const AttentionForm& form : kAttentionForms) {
      INFO(dtype_name(dtype) << ", form " << &form - kAttentionForms);
      check_attention_of(form, dtype, false);
      if (!form.bias.empty()) check_attention_of(form, dtype, true);
    }
  }
}

struct Expansion {
  Op op;
  void (*check)();
};

const Expansion kExpansions[] = {
    {Op::Softmax, [] { check_softmax(Op::Softmax); }},
    {Op::LogSoftmax, [] { check_softmax(Op::LogSoftmax); }},
    {Op::Conv, check_conv},
    {Op::Require, check_require},
    {Op::ScaleGradient, check_scale_gradient},
    {Op::Variance, check_variance},
    {Op::ScatterSub, check_scatter_sub},
    {Op::ArgSort, check_arg_sort},
    {Op::Collective, check_collective},
    {Op::Attention, check_attention},
    {Op::AttentionGradient, check_attention},
};

}  // namespace

TEST_CASE("composites: every one has an expansion, and a row here") {
  for (const ir::OpDef& d : ir::all_ops()) {
    INFO(d.name);
    const bool has_row = std::any_of(std::begin(kExpansions), std::end(kExpansions),
                                     [&](const Expansion& row) { return row.op == d.op; });
    CHECK((d.expand != nullptr) == (d.lowering == ir::Lowering::Composite));
    CHECK((d.expand != nullptr) == has_row);
  }
}

TEST_CASE("composites: expansions agree with plain loops") {
  for (const Expansion& row : kExpansions) {
    INFO(ir::def(row.op).name);
    row.check();
  }
}

TEST_CASE("composites: arg_sort orders all bits of integers, and keeps equal elements in order") {
  for (const DType dtype : {DType::Int8, DType::UInt8, DType::Int64, DType::UInt64}) {
    INFO(dtype_name(dtype));
    Array x = Array::zeros({600}, dtype);
    std::mt19937_64 generator(3);
    auto* bytes = static_cast<std::uint8_t*>(x.data());
    for (std::size_t i = 0; i < x.bytes(); ++i) bytes[i] = std::uint8_t(generator());
    if (dtype_bytes(dtype) == 1) {
      check_sorted(x, {600}, 0, false);
      check_sorted(x, {600}, 0, true);
      continue;
    }
    const Array order = expanded(Op::ArgSort, ir::SortAttrs{0, false}, {x});
    const auto at = [&](std::size_t i) {
      std::uint64_t bits;
      std::memcpy(&bits, bytes + 8 * static_cast<std::size_t>(order.as<std::int64_t>()[i]), 8);
      return dtype == DType::Int64 ? bits ^ (1ull << 63) : bits;
    };
    for (std::size_t i = 1; i < 600; ++i) CHECK(at(i - 1) < at(i));
  }
}

TEST_CASE("composites: arg_sort takes zeros of both signs and subnormals as equal") {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
    Array x = Array::zeros({5}, dtype);
    const std::size_t size = dtype_bytes(dtype);
    auto* bytes = static_cast<std::byte*>(x.data());
    bytes[0] = std::byte{3};
    bytes[2 * size - 1] = bytes[4 * size - 1] = std::byte{0x80};  // signs
    bytes[3 * size] = std::byte{2};
    for (const bool descending : {false, true}) {
      CHECK(doubles(expanded(Op::ArgSort, ir::SortAttrs{0, descending}, {x})) ==
            Doubles{0, 1, 2, 3, 4});
    }
  }
}

TEST_CASE("composites of halves: round once where a part of a sum is no half") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    const auto full = [&](const Ints& dims, double x) { return Array::full(dims, x, dtype); };
    Array deviations = Array::full({2, 35000}, 100, DType::Float64);  // their squares add up to 7e8
    for (std::size_t i = 0; i < 35000; ++i) deviations.as<double>()[i] = -100;
    check_close(expanded(Op::Variance, ir::AxesAttrs{{0, 1}}, {deviations.astype(dtype)}), {1e4});

    const Array indices = Array::zeros({20}, DType::Int32);
    check_close(expanded(Op::ScatterSub, ir::NoAttrs{},
                         {full({2, 1}, -60000), full({}, -1), indices, full({20, 1}, 4096)}),
                {21920, -60000});

    // Backward data: one position adds 80000 to an element, another takes 60000 away.
    const Array filter = Array({0., 0., -1., 1., 1., 1.}, {3, 1, 2}).astype(dtype);
    const Array dy = Array({40000., 40000., 30000., -30000., 0., 0.}, {1, 3, 2}).astype(dtype);
    const ir::ConvAttrs attrs{ir::ConvRole::Input, {1}, {1}, {0}, {0}, {5}, 1};
    check_close(expanded(Op::Conv, attrs, {filter, dy}), {0, 0, 20000, 0, 0});
  }
}
