// Compares convolutions and pooling over many sizes, strides, dilations and paddings at once, with
// known and unknown dims, in both data formats, with plain loops in float64: values and gradients
// of every operand. Elements are small whole numbers with many ties, so that the loops' results are
// exact.
#include "tests/k/row.h"
#include "tests/k/window_loops.h"
#include "tests/support/catch.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::test {
namespace {

using loops::Axis;
using loops::Doubles;
using loops::Role;
using loops::Windows;
using Dims = std::vector<std::int64_t>;

struct Case {
  Windows windows;
  std::size_t rank = 1;
  char padding = 'v';  // as in "valid", "same", "causal"
  std::int64_t filters = 1;
  bool channels_first = false, known = true;

  std::string padding_name() const {
    return padding == 'v' ? "valid" : padding == 's' ? "same" : "causal";
  }
  std::string format() const { return channels_first ? "channels_first" : "channels_last"; }
  /// One value for each spatial axis.
  template <class F>
  Dims each(const F& number) const {
    Dims numbers;
    for (std::size_t i = 0; i < rank; ++i) numbers.push_back(number(windows.axes[i]));
    return numbers;
  }
  Dims sizes() const {
    return each([](const Axis& a) { return a.n; });
  }
  Dims taps() const {
    return each([](const Axis& a) { return a.k; });
  }
  Dims positions() const {
    return each([](const Axis& a) { return a.out; });
  }
  Dims strides() const {
    return each([](const Axis& a) { return a.stride; });
  }
  Dims dilations() const {
    return each([](const Axis& a) { return a.dilation; });
  }
  ConvOptions options() const { return {strides(), padding_name(), format(), dilations()}; }
  std::string text() const {
    return kiln::text("(", join_text(sizes()), ") by (", join_text(taps()), "), strides (",
                      join_text(strides()), "), dilation (", join_text(dilations()), "), ",
                      padding_name(), ", ", format(), known ? "" : ", unknown dims");
  }
};

Doubles numbers(std::int64_t count, std::int64_t factor) {
  Doubles list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(double((i * factor + 3) % 7 - 3));
  return list;
}

Dims joined(std::int64_t first, const Dims& middle, const Dims& last) {
  Dims dims{first};
  dims.insert(dims.end(), middle.begin(), middle.end());
  dims.insert(dims.end(), last.begin(), last.end());
  return dims;
}

/// Elements (batch, spatial.., channels) as an array of the case's data format.
Array image(const Case& c, const Doubles& elements, const Dims& spatial, std::int64_t channels) {
  if (!c.channels_first) return Array(elements, joined(c.windows.batch, spatial, {channels}));
  Dims dims = joined(c.windows.batch, {channels}, spatial);
  std::int64_t count = 1;
  for (std::int64_t size : spatial) count *= size;
  Doubles moved(elements.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(moved.size()); ++i) {
    const std::int64_t channel = i % channels, at = i / channels % count;
    const std::int64_t sample = i / channels / count;
    loops::at(moved, (sample * channels + channel) * count + at) = loops::at(elements, i);
  }
  return Array(moved, dims);
}

Tensor argument(const Array& value, bool known) {
  if (known) return placeholder({.shape = value.dims(), .dtype = "float64"});
  return placeholder(
      {.shape = std::vector<ShapeEntry>(value.dims().size(), None), .dtype = "float64"});
}

/// Collects calls and runs them in one function, since most of the time is compilation.
class Sweep {
 public:
  Tensor add(const Array& value, bool known) {
    inputs_.push_back(argument(value, known));
    values_.push_back(value);
    return inputs_.back();
  }
  void expect(const Tensor& result, const Array& expected, const std::string& name) {
    results_.push_back(result);
    expected_.push_back(expected);
    names_.push_back(name);
  }
  void run() const {
    REQUIRE_FALSE(results_.empty());
    const auto got = evaluate(inputs_, results_, values_);
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(names_[i]);
      CHECK(difference(got[i], expected_[i], 1e-12) == "");
    }
  }

 private:
  Tensors inputs_, results_;
  std::vector<Array> values_, expected_;
  std::vector<std::string> names_;
};

Tensor convolved(const Tensor& x, const Tensor& filter, const Case& c) {
  if (c.rank == 1) return conv1d(x, filter, c.options());
  return c.rank == 2 ? conv2d(x, filter, c.options()) : conv3d(x, filter, c.options());
}

/// Adds the value of a convolution and both of its gradients.
void add_convolution(Sweep& sweep, const Case& c) {
  const Windows& w = c.windows;
  Doubles x = numbers(w.elements(), 5), filter = numbers(w.taps() * w.channels * c.filters, 3);
  Doubles y = loops::zeros(w.batch * w.positions() * c.filters);
  Doubles dy = numbers(static_cast<std::int64_t>(y.size()), 2);
  Doubles dx = loops::zeros(w.elements()),
          dfilter = loops::zeros(w.taps() * w.channels * c.filters);
  loops::convolve(w, c.filters, Role::Output, x, filter, y);
  loops::convolve(w, c.filters, Role::Input, dx, filter, dy);
  loops::convolve(w, c.filters, Role::Filter, x, dfilter, dy);
  const Dims taps = c.taps();
  const Dims filter_dims = joined(taps[0], {taps.begin() + 1, taps.end()}, {w.channels, c.filters});
  const Tensor input = sweep.add(image(c, x, c.sizes(), w.channels), c.known);
  const Tensor weights = sweep.add(Array(filter, filter_dims), c.known);
  const Tensor upstream = sweep.add(image(c, dy, c.positions(), c.filters), c.known);
  const Tensor result = convolved(input, weights, c);
  const Tensors slopes = gradients(sum(result * upstream), {input, weights});
  sweep.expect(result, image(c, y, c.positions(), c.filters), "conv of " + c.text());
  sweep.expect(slopes[0], image(c, dx, c.sizes(), w.channels), "dx of conv of " + c.text());
  sweep.expect(slopes[1], Array(dfilter, filter_dims), "dfilter of conv of " + c.text());
}

/// Adds a transposed convolution from outputs to inputs: the dx of add_convolution, as a value.
void add_transpose(Sweep& sweep, const Case& c) {
  const Windows& w = c.windows;
  const std::int64_t positions = w.batch * w.positions() * c.filters;
  Doubles y = numbers(positions, 5), filter = numbers(w.taps() * w.channels * c.filters, 3);
  Doubles x = loops::zeros(w.elements()), dx = numbers(w.elements(), 2),
          dy = loops::zeros(positions);
  loops::convolve(w, c.filters, Role::Input, x, filter, y);
  loops::convolve(w, c.filters, Role::Output, dx, filter, dy);
  const Dims taps = c.taps(), sizes = c.sizes();
  const Dims filter_dims = joined(taps[0], {taps.begin() + 1, taps.end()}, {w.channels, c.filters});
  const Tensor input = sweep.add(image(c, y, c.positions(), c.filters), c.known);
  const Tensor weights = sweep.add(Array(filter, filter_dims), c.known);
  const Tensor upstream = sweep.add(image(c, dx, sizes, w.channels), c.known);
  const Shape whole = c.known ? Shape(image(c, x, sizes, w.channels).dims()) : shape(upstream);
  const Tensor result = c.rank == 2 ? conv2d_transpose(input, weights, whole, c.options())
                                    : conv3d_transpose(input, weights, whole,
                                                       {c.strides(), c.padding_name(), c.format()});
  sweep.expect(result, image(c, x, sizes, w.channels), "transpose to " + c.text());
  sweep.expect(gradients(sum(result * upstream), {input})[0],
               image(c, dy, c.positions(), c.filters), "dx of transpose to " + c.text());
}

/// `lowest`: whether most elements have the value of the padding.
void add_pool(Sweep& sweep, const Case& c, bool is_max, bool lowest = false) {
  const Windows& w = c.windows;
  const std::string mode = is_max ? "max" : "avg";
  Doubles x = numbers(w.elements(), 5);
  for (double& element : x) {
    if (lowest && element < 3) element = -std::numeric_limits<double>::infinity();
  }
  const Doubles dy = numbers(w.batch * w.positions() * w.channels, 2);
  const loops::Pooled expected = loops::pool(w, is_max, x, dy);
  const PoolOptions options{c.strides(), c.padding_name(), c.format(), mode};
  const Tensor input = sweep.add(image(c, x, c.sizes(), w.channels), c.known);
  const Tensor upstream = sweep.add(image(c, dy, c.positions(), w.channels), c.known);
  const Tensor result =
      c.rank == 2 ? pool2d(input, c.taps(), options) : pool3d(input, c.taps(), options);
  sweep.expect(result, image(c, expected.y, c.positions(), w.channels), mode + " of " + c.text());
  sweep.expect(gradients(sum(result * upstream), {input})[0],
               image(c, expected.dx, c.sizes(), w.channels), "dx of " + mode + " of " + c.text());
}

/// Every combination of these along the first axis, while the other axes cycle through them.
std::vector<Case> cases(std::size_t rank, const std::string& paddings, bool dilated) {
  std::vector<Case> list;
  std::int64_t turn = 0;
  const auto other = [&](std::int64_t i) { return (turn + i) % 3; };
  for (const std::int64_t n : {0, 1, 2, 5, 8}) {
    for (const std::int64_t k : {1, 2, 3}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        for (const std::int64_t dilation : {1, 2}) {
          for (const char padding : paddings) {
            if (dilation > 1 && (!dilated || k == 1)) continue;
            Case c{{1 + other(0) % 2, 1 + other(1), {}}, rank, padding, 1 + other(2)};
            c.windows.axes[0] = loops::axis(n, k, stride, dilation, padding);
            for (std::size_t i = 1; i < rank; ++i) {
              const auto at = static_cast<std::int64_t>(i);
              const std::int64_t size = 2 + other(at), taps = 1 + other(at + 1) % 2;
              c.windows.axes[i] = loops::axis(size, taps, 1 + other(at) % 2, 1, padding);
            }
            ++turn;
            c.channels_first = padding != 'c' && turn % 2 == 0;
            c.known = turn % 3 != 0;
            if (n == 0 && padding == 'v') continue;
            if (c.windows.axes[0].out > 0 || n == 0) list.push_back(c);
          }
        }
      }
    }
  }
  return list;
}

void sweep_convolutions(std::size_t rank, const std::string& paddings) {
  Sweep sweep;
  for (const Case& c : cases(rank, paddings, true)) add_convolution(sweep, c);
  sweep.run();
}

}  // namespace

TEST_CASE("conv1d over many sizes and strides", "[k]") { sweep_convolutions(1, "vsc"); }
TEST_CASE("conv2d over many sizes and strides", "[k]") { sweep_convolutions(2, "vs"); }
TEST_CASE("conv3d over many sizes and strides", "[k]") { sweep_convolutions(3, "vs"); }

TEST_CASE("transposed convolutions over many sizes and strides", "[k]") {
  Sweep sweep;
  for (const Case& c : cases(2, "vs", true)) add_transpose(sweep, c);
  for (const Case& c : cases(3, "vs", false)) add_transpose(sweep, c);
  sweep.run();
}

TEST_CASE("pooling over many sizes and strides", "[k]") {
  Sweep sweep;
  for (const std::size_t rank : {2u, 3u}) {
    for (const Case& c : cases(rank, "vs", false)) {
      add_pool(sweep, c, true);
      add_pool(sweep, c, true, /*lowest=*/true);
      add_pool(sweep, c, false);
    }
  }
  sweep.run();
}

// The specification's table of windows: (n, k, s, d) to (number of windows, padding before).
TEST_CASE("same padding: windows and padding are those of the specification", "[k]") {
  struct Row {
    std::int64_t n, k, s, d, out, before;
  };
  constexpr Row kRows[] = {{4, 2, 1, 1, 4, 0}, {4, 3, 2, 1, 2, 0}, {5, 3, 2, 1, 3, 1},
                           {6, 3, 2, 1, 3, 0}, {7, 4, 2, 1, 4, 1}, {8, 3, 1, 2, 8, 2},
                           {10, 1, 3, 1, 4, 0}};
  for (const Row& p : kRows) {
    INFO(p.n << " by " << p.k << ", stride " << p.s << ", dilation " << p.d);
    // Each tap has a decimal digit of its own in the sums.
    Windows w;
    w.axes[0] = {p.n, p.k, p.s, p.d, p.out, p.before};
    Doubles x, filter, y = loops::zeros(p.out);
    for (std::int64_t i = 0; i < p.n; ++i) x.push_back(static_cast<double>(i + 1));
    for (std::int64_t i = 0; i < p.k; ++i) filter.push_back(std::pow(100, double(i)));
    loops::convolve(w, 1, Role::Output, x, filter, y);
    for (const bool known : {true, false}) {
      Sweep sweep;
      const Tensor input = sweep.add(Array(x, Dims{1, p.n, 1}), known);
      const Tensor weights = sweep.add(Array(filter, Dims{p.k, 1, 1}), known);
      const ConvOptions options{p.s, "same", {}, p.d};
      sweep.expect(conv1d(input, weights, options), Array(y, Dims{1, p.out, 1}), "known taps");
      sweep.run();
    }
  }
}

TEST_CASE("windows: the process's data format applies when none is given", "[k]") {
  struct Restore {
    ~Restore() { set_image_data_format("channels_last"); }
  } restore;
  set_image_data_format("channels_first");
  using Sizes = std::vector<std::optional<std::int64_t>>;
  const Tensor sequence = zeros({1, 2, 5}), image = zeros({1, 2, 5, 4});
  const Tensor volume = zeros({1, 2, 3, 5, 4}), pointwise = zeros({1, 1, 2, 7});
  CHECK(int_shape(conv1d(sequence, zeros({2, 2, 7}))) == Sizes{1, 7, 4});
  CHECK(int_shape(conv2d(image, zeros({2, 1, 2, 7}))) == Sizes{1, 7, 4, 4});
  CHECK(int_shape(conv3d(volume, zeros({2, 2, 2, 2, 7}))) == Sizes{1, 7, 2, 4, 3});
  CHECK(int_shape(conv2d_transpose(image, zeros({2, 1, 7, 2}), {1, 7, 6, 4})) == Sizes{1, 7, 6, 4});
  CHECK(int_shape(conv3d_transpose(volume, zeros({1, 2, 1, 7, 2}), {1, 7, 3, 6, 4})) ==
        Sizes{1, 7, 3, 6, 4});
  CHECK(int_shape(depthwise_conv2d(image, zeros({2, 1, 2, 3}))) == Sizes{1, 6, 4, 4});
  CHECK(int_shape(separable_conv2d(image, zeros({2, 1, 2, 1}), pointwise)) == Sizes{1, 7, 4, 4});
  CHECK(int_shape(separable_conv1d(sequence, zeros({2, 2, 1}), zeros({1, 2, 7}))) ==
        Sizes{1, 7, 4});
  CHECK(int_shape(local_conv2d(image, zeros({16, 4, 7}), {2, 1}, 1, {4, 4})) == Sizes{1, 7, 4, 4});
  CHECK(int_shape(pool2d(image, {2, 1})) == Sizes{1, 2, 4, 4});
  CHECK(int_shape(pool3d(volume, {3, 1, 2})) == Sizes{1, 2, 1, 5, 3});
  CHECK(int_shape(bias_add(image, zeros({2}))) == Sizes{1, 2, 5, 4});
  // Always (batch, steps, channels), as in Keras 2.3.1.
  CHECK(int_shape(local_conv1d(sequence, zeros({1, 10, 7}), 2, 1)) == Sizes{1, 1, 7});
}

}  // namespace kiln::test
