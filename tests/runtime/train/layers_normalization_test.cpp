// Tests BatchNormalization and LayerNormalization against plain loops, and the updates of moving
// averages.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

#include <cmath>

namespace kiln {
namespace {

namespace L = kiln::layers;

// Keras 3.5: keras_layer_options.py.
const std::vector<float> kKerasRmsLast{
    1.0396464f,  2.090816f,     1.3439422f,    0.03888467f,   -0.39055946f, -1.4738476f,
    -1.2221375f, -0.053284448f, -0.083719805f, 0.6868573f,    0.7828606f,   0.044918384f,
    0.31463265f, -0.24450852f,  -0.50732183f,  -0.037519906f, -0.4580769f,  -0.051624864f,
    0.31391668f, 0.031724744f,  0.5709967f,    0.29836252f,   -0.14747591f, -0.02639752f};
const std::vector<float> kKerasRmsBoth{
    0.3336443f,  0.67098665f,  0.4312992f,    0.012478906f, 0.10979496f,  0.56169635f,
    0.61799705f, 0.18523422f,  -0.018177425f, 0.3454388f,   0.6724561f,   0.42000422f,
    0.25822937f, -0.20067617f, -0.41637573f,  -0.03079382f, 0.3159782f,   0.048276026f,
    -0.3894972f, -0.2706091f,  0.20757824f,   0.25124246f,  -0.21210195f, -0.41327277f};

Array ramp(const std::vector<std::int64_t>& shape, double from = 0) {
  Array array = Array::zeros(shape, DType::Float64);
  double i = from;
  for (double& x : array.as<double>()) ++i, x = std::cos(i) + 0.01 * i;
  return array;
}

struct Channel {
  double mean = 0, variance = 0;
};

/// Mean and variance of each channel, the last axis.
std::vector<Channel> channels_of(const Array& x) {
  const auto count = static_cast<std::size_t>(x.dims().back());
  const auto values = x.as<double>();
  const double rows = static_cast<double>(values.size() / count);
  std::vector<Channel> channels(count);
  for (std::size_t i = 0; i < values.size(); ++i) channels[i % count].mean += values[i] / rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double centered = values[i] - channels[i % count].mean;
    channels[i % count].variance += centered * centered / rows;
  }
  return channels;
}

void check_close(const Array& actual, const std::vector<double>& expected) {
  const auto values = actual.as<double>();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(values[i] == Approx(expected[i]).margin(1e-9));
  }
}

/// An epoch of the moving averages: before * 0.9 + now * 0.1.
double moved(double before, double now) { return before * 0.9 + now * 0.1; }

}  // namespace

TEST_CASE("layers: BatchNormalization uses the batch in training and its averages otherwise") {
  const L::BatchNormalization norm({.momentum = 0.9,
                                    .beta_initializer = initializers::Constant({.value = 0.5}),
                                    .gamma_initializer = initializers::Constant({.value = 2}),
                                    .dtype = "float64",
                                    .name = "bn"});
  const auto x = placeholder({.shape = {None, 2, 3}, .dtype = "float64"});
  const auto phase = learning_phase();
  const Tensor y = norm(x);
  const Function train = function({x, phase}, {y}, {.updates = norm.updates()});
  const Function test = function({x}, {y});
  const Array first = ramp({4, 2, 3}), second = ramp({5, 2, 3}, 7);

  const auto normalized = [](const Array& values, const std::vector<Channel>& by) {
    std::vector<double> expected;
    for (std::size_t i = 0; i < static_cast<std::size_t>(values.size()); ++i) {
      const Channel& c = by[i % 3];
      expected.push_back((values.as<double>()[i] - c.mean) / std::sqrt(c.variance + 0.001) * 2 +
                         0.5);
    }
    return expected;
  };
  std::vector<Channel> averages(3, {0, 1});
  check_close(test({first})[0], normalized(first, averages));
  for (const Array& batch : {first, second}) {
    const std::vector<Channel> now = channels_of(batch);
    check_close(train({batch, true})[0], normalized(batch, now));
    for (std::size_t c = 0; c < 3; ++c) {
      averages[c] = {moved(averages[c].mean, now[c].mean),
                     moved(averages[c].variance, now[c].variance)};
    }
    check_close(test({first})[0], normalized(first, averages));
  }
  const Array before = get_value(norm.weights()[2]);
  check_close(train({second, false})[0], normalized(second, averages));
  CHECK(get_value(norm.weights()[2]) == before);

  std::vector<std::string> names;
  for (const Tensor& w : norm.weights()) names.push_back(w.name());
  CHECK(names ==
        std::vector<std::string>{"bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"});
  CHECK(norm.trainable_weights().size() == 2);
  CHECK(norm.non_trainable_weights().size() == 2);
}

TEST_CASE("layers: calls of one BatchNormalization move its averages one after the other") {
  const L::BatchNormalization norm({.momentum = 0.9, .dtype = "float64"});
  const Array a = ramp({4, 2}), b = ramp({6, 2}, 3);
  const Tensor ya = norm(constant(a, {.dtype = "float64"}), {.training = true});
  const Tensor yb = norm(constant(b, {.dtype = "float64"}), {.training = true});
  const Tensor evaluated = norm(constant(b, {.dtype = "float64"}), {.training = false});
  const auto updates = L::updates({norm, L::Flatten()});
  REQUIRE(updates.size() == 2);
  static_cast<void>(function({}, {ya, yb, evaluated}, {.updates = updates})());
  const std::vector<Channel> of_a = channels_of(a), of_b = channels_of(b);
  check_close(get_value(norm.weights()[2]), {moved(moved(0, of_a[0].mean), of_b[0].mean),
                                             moved(moved(0, of_a[1].mean), of_b[1].mean)});
  check_close(get_value(norm.weights()[3]), {moved(moved(1, of_a[0].variance), of_b[0].variance),
                                             moved(moved(1, of_a[1].variance), of_b[1].variance)});
}

TEST_CASE("layers: a fixed learning phase is known when the graph is built") {
  const auto x = ones({2, 3});
  for (const int phase : {0, 1}) {
    set_learning_phase(phase);
    const L::BatchNormalization norm({.center = false, .scale = false});
    const Tensor y = norm(x);
    CHECK(norm.updates().size() == (phase == 1 ? 2 : 0));
    CHECK(norm.weights().size() == 2);
    CHECK(eval(y).at<float>(0, 0) == Approx(phase == 1 ? 0 : 1 / std::sqrt(1.001)));
    clear_session();
  }
}

TEST_CASE("layers: BatchNormalization has channels along any axis") {
  const L::BatchNormalization norm({.axis = 1, .dtype = "float64"});
  const Array x = ramp({3, 2, 4, 5});
  const auto image = constant(x, {.dtype = "float64"});
  const Tensor last = norm(image, {.training = true});
  const std::vector<Channel> channels = channels_of(eval(permute_dimensions(image, {0, 2, 3, 1})));
  CHECK(eval(last).at<double>(1, 1, 2, 3) == Approx((x.at<double>(1, 1, 2, 3) - channels[1].mean) /
                                                    std::sqrt(channels[1].variance + 0.001)));
}

TEST_CASE("layers: LayerNormalization is that of plain loops, over one axis and several") {
  const Array x = ramp({2, 3, 4});
  const auto given = constant(x, {.dtype = "float64"});
  const auto half = [](const std::vector<std::int64_t>& shape, DType dtype) {
    return ramp(shape, 0.5).astype(dtype);
  };
  const L::LayerNormalization over_last(
      {.beta_initializer = half, .gamma_initializer = half, .dtype = "float64"});
  const L::LayerNormalization over_both({.axis = {-1, 1},
                                         .epsilon = 0.1,
                                         .beta_initializer = half,
                                         .gamma_initializer = half,
                                         .dtype = "float64"});
  const L::LayerNormalization over_first(
      {.axis = 1, .center = false, .gamma_initializer = half, .dtype = "float64"});
  const Array last = eval(over_last(given)), both = eval(over_both(given)),
              first = eval(over_first(given));
  CHECK(get_variable_shape(over_both.weights()[0]) == std::vector<std::int64_t>{3, 4});
  const Array vector = ramp({4}, 0.5), matrix = ramp({3, 4}, 0.5), column = ramp({3}, 0.5);
  for (std::int64_t b = 0; b < 2; ++b) {
    // Each sample is one channel if all its elements are normalized together.
    Array sample = Array::zeros({12, 1}, DType::Float64), transposed = sample;
    for (std::int64_t k = 0; k < 12; ++k) {
      sample.as<double>()[static_cast<std::size_t>(k)] = x.at<double>(b, k / 4, k % 4);
    }
    const Channel all = channels_of(sample)[0];
    const std::vector<Channel> columns = channels_of(sample.reshape({3, 4}));
    for (std::int64_t i = 0; i < 3; ++i) {
      Array row = Array::zeros({4, 1}, DType::Float64);
      for (std::int64_t j = 0; j < 4; ++j) {
        row.as<double>()[static_cast<std::size_t>(j)] = x.at<double>(b, i, j);
      }
      const Channel of_row = channels_of(row)[0];
      for (std::int64_t j = 0; j < 4; ++j) {
        const double value = x.at<double>(b, i, j), w = vector.at<double>(j);
        const Channel& c = columns[static_cast<std::size_t>(j)];
        CHECK(last.at<double>(b, i, j) ==
              Approx((value - of_row.mean) / std::sqrt(of_row.variance + 0.001) * w + w));
        const double m = matrix.at<double>(i, j);
        CHECK(both.at<double>(b, i, j) ==
              Approx((value - all.mean) / std::sqrt(all.variance + 0.1) * m + m));
        CHECK(first.at<double>(b, i, j) ==
              Approx((value - c.mean) / std::sqrt(c.variance + 0.001) * column.at<double>(i)));
      }
    }
  }
}

TEST_CASE("layers: LayerNormalization computes float16 in float32") {
  const L::LayerNormalization norm({.dtype = "float16"});
  const Tensor y = norm(constant({{60000., 59000., 58000., 61000.}}, {.dtype = "float16"}));
  CHECK(dtype(y) == "float16");
  CHECK(eval(cast(y, "float32")).at<float>(0, 3) == Approx(1.34).epsilon(0.01));
}

TEST_CASE("layers: rms_scaling of LayerNormalization is that of Keras") {
  const L::LayerNormalization over_last({.rms_scaling = true});
  const L::LayerNormalization over_both({.axis = {1, 2}, .scale = false, .rms_scaling = true});
  const auto x = constant(testing::wave({2, 3, 4}, 0.6, 1));
  const Tensor last = over_last(x), both = over_both(x);
  testing::set_waves({over_last});
  testing::set_waves({over_both});
  testing::check_near(eval(last), kKerasRmsLast);
  testing::check_near(eval(both), kKerasRmsBoth);
  CHECK(over_last.weights().size() == 1);
  CHECK(over_both.weights().size() == 1);
}

TEST_CASE("layers: misuse of normalizations") {
  using testing::Misuse, testing::throws;
  const L::BatchNormalization batch({.axis = 3, .name = "b"}), built({.name = "b"});
  const L::LayerNormalization norm({.axis = {-1, 2}, .name = "n"}), axis({.name = "n"});
  const Tensor y = built(ones({2, 3})), z = axis(ones({2, 3}));
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::BatchNormalization({.momentum = 2}); },
       "BatchNormalization: momentum 2 is outside [0, 1]"},
      {throws<ValueError>(), [] { L::BatchNormalization({.epsilon = -1}); },
       "BatchNormalization: epsilon -1 is negative or not finite"},
      {throws<ValueError>(), [=] { static_cast<void>(batch(ones({2, 3}))); },
       "BatchNormalization: layer 'b' has axis 3, which is out of range for float32[2,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(built(ones({2, 4}))); },
       "BatchNormalization: layer 'b' requires size 3 of axis 1 of inputs, as at its first call, "
       "not float32[2,4]"},
      {throws<ValueError>(), [] { L::LayerNormalization({.axis = None}); },
       "LayerNormalization: there is no axis to normalize"},
      {throws<ValueError>(), [=] { static_cast<void>(norm(ones({2, 3, 4}))); },
       "LayerNormalization: layer 'n' has a repeated axis for inputs float32[2,3,4]"},
      {throws<ValueError>(), [=] { static_cast<void>(norm(ones({2, 3}))); },
       "LayerNormalization: layer 'n' has axis 2, which is out of range for inputs float32[2,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(axis(ones({2, 4}))); },
       "LayerNormalization: layer 'n' requires sizes (3) of its axes, as at its first call, not "
       "float32[2,4]"}});
}

}  // namespace kiln
