// Tests convolution and pooling layers against plain loops.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kiln {
namespace {

namespace L = kiln::layers;

// Keras 3.5: keras_layer_options.py.
const std::vector<float> kKerasGroupsConv1D{
    0.77579355f,  0.26665917f,  -0.31982625f, -0.30425933f, -0.17220476f, -0.38676262f,
    0.52520764f,  0.061979413f, 0.6196059f,   0.74785423f,  -0.5044797f,  -1.0420359f,
    0.7614788f,   0.24909414f,  -0.30992708f, -0.2941863f,  0.5836694f,   0.5797576f,
    -0.39751738f, -0.8383669f,  0.8941269f,   0.2373964f,   -0.36919066f, -0.20195249f,
    -0.1879398f,  -0.35750407f, 0.5174532f,   0.013827205f, 0.59963125f,  0.5912918f,
    -0.40968078f, -0.8391006f};
const std::vector<float> kKerasGroupsConv2D{
    0.62792647f,  0.7883141f,   -0.06565552f, -0.77166814f, -0.7178324f,  -0.053283665f,
    -0.4987339f,  -0.60719997f, 0.62691355f,  0.5461608f,   -0.8096118f,  -0.87585485f,
    0.8190939f,   0.25494733f,  -0.7767186f,  -0.6617742f,  0.47969186f,  0.32133383f,
    0.810411f,    0.22236173f,  -0.77002716f, -0.6432123f,  0.47545195f,  0.29766124f,
    0.66622216f,  0.80178f,     -0.13405351f, -0.7926778f,  -0.6850229f,  0.012158063f,
    -0.5090119f,  -0.5858424f,  0.6479807f,   0.53831077f,  -0.82727873f, -0.8787634f,
    -0.51283085f, -0.57383394f, 0.6572979f,   0.5331213f,   -0.83519953f, -0.87980497f,
    0.7910778f,   0.15574247f,  -0.75482833f, -0.6029748f,  0.46421367f,  0.2471541f,
    0.7004961f,   0.813119f,    -0.20116717f, -0.81092554f, -0.64828604f, 0.07585526f,
    0.75661576f,  0.05386785f,  -0.7270372f,  -0.53470933f, 0.44027874f,  0.16397697f,
    0.744816f,    0.8265629f,   -0.29755086f, -0.8337289f,  -0.585529f,   0.16647787f,
    -0.5194952f,  -0.51629204f, 0.6871017f,   0.5036132f,   -0.8615566f,  -0.8813266f,
    -0.5190289f,  -0.49939796f, 0.6928093f,   0.49396417f,  -0.8669626f,  -0.8810554f,
    0.7295717f,   -0.01397398f, -0.7047967f,  -0.48400295f, 0.41943637f,  0.10416784f,
    0.77001363f,  0.83338416f,  -0.3578959f,  -0.84625983f, -0.5385612f,  0.22271925f,
    0.781415f,    0.8362023f,   -0.38668072f, -0.8518111f,  -0.51357734f, 0.24941228f,
    -0.515537f,   -0.46244007f, 0.7022801f,   0.47180688f,  -0.87654066f, -0.87972593f,
    0.6989429f,   -0.08066487f, -0.6792585f,  -0.4293846f,  0.39453956f,  0.041531056f};
const std::vector<float> kKerasGroupsChannels{
    1.0574313f,   0.59253514f,  0.043575466f,  -0.7445054f,   -0.9342315f,  -0.9213748f,
    0.5276139f,   0.43474984f,  -0.007492982f, -0.028205037f, 0.1921095f,   0.3048895f,
    -0.22180626f, -0.38835776f, -0.42055994f,  -0.4583973f,   -0.75881445f, -0.44819933f,
    1.0646949f,   0.60051286f,  0.04757902f,   -0.74033594f,  -0.925015f,   -0.9140757f,
    0.70074415f,  0.50371087f,  -0.15315147f,  -0.41070098f,  -0.2839704f,  -0.010695845f,
    0.03583336f,  -0.27987963f, -0.40566576f,  -0.42624545f,  -0.41755208f, -0.22411165f,
    1.0717859f,   0.6083812f,   0.05153294f,   -0.7360728f,   -0.91567767f, -0.9066179f,
    0.5026587f,   0.41552138f,  -0.016600303f, -0.022848278f, 0.19513562f,  0.31373298f,
    -0.21096382f, -0.384789f,   -0.41932178f,  -0.47223863f,  -0.78042364f, -0.47188544f,
    1.0787024f,   0.616138f,    0.055436224f,  -0.73171717f,  -0.90622234f, -0.8990035f,
    0.6891309f,   0.4900248f,   -0.16446057f,  -0.41139716f,  -0.2767443f,  0.00084879994f,
    0.034720182f, -0.28119147f, -0.39905542f,  -0.4258385f,   -0.4275211f,  -0.24003859f};

/// Values of that shape between -1 and 1, without a pattern.
Array waves(const std::vector<std::int64_t>& shape, double phase = 0) {
  Array array = Array::zeros(shape);
  double i = phase;
  for (float& x : array.as<float>()) x = static_cast<float>(std::sin(1.7 * ++i));
  return array;
}

const Initializer kWaves = [](const std::vector<std::int64_t>& shape, DType dtype) {
  return waves(shape, 0.3).astype(dtype);
};

/// Windows over one image axis of n elements: the position of the first element of window i.
struct Windows {
  std::int64_t n, k, stride;
  bool is_same;
  std::int64_t count() const { return is_same ? (n + stride - 1) / stride : (n - k) / stride + 1; }
  std::int64_t start(std::int64_t i) const {
    const std::int64_t total = std::max<std::int64_t>((count() - 1) * stride + k - n, 0);
    return i * stride - (is_same ? total / 2 : 0);
  }
  bool has(std::int64_t position) const { return position >= 0 && position < n; }
};

/// Compares y (samples, rows, columns, channels) with expected(sample, row, column, channel).
template <class Expected>
void check_images(const Array& y, const std::vector<std::int64_t>& dims, const Expected& expected) {
  REQUIRE(y.dims() == dims);
  for (std::int64_t b = 0; b < dims[0]; ++b) {
    for (std::int64_t i = 0; i < dims[1]; ++i) {
      for (std::int64_t j = 0; j < dims[2]; ++j) {
        for (std::int64_t c = 0; c < dims[3]; ++c) {
          CHECK(y.at<float>(b, i, j, c) == Approx(expected(b, i, j, c)).margin(1e-5));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("layers: Conv2D and DepthwiseConv2D are those of plain loops in both formats") {
  const Array x = waves({2, 6, 5, 3});
  for (const bool is_depthwise : {false, true}) {
    for (const bool is_same : {false, true}) {
      for (const bool is_first : {false, true}) {
        const char* padding = is_same ? "same" : "valid";
        const char* format = is_first ? "channels_first" : "channels_last";
        const L::Conv2D full(4, {3, 2},
                             {.strides = {2, 1},
                              .padding = padding,
                              .data_format = format,
                              .activation = "tanh",
                              .kernel_initializer = kWaves,
                              .bias_initializer = kWaves});
        const L::DepthwiseConv2D depthwise({3, 2}, {.strides = 1,
                                                    .padding = padding,
                                                    .depth_multiplier = 2,
                                                    .data_format = format,
                                                    .activation = "tanh",
                                                    .depthwise_initializer = kWaves,
                                                    .bias_initializer = kWaves});
        const Tensor image = constant(x);
        const Tensor given = is_first ? permute_dimensions(image, {0, 3, 1, 2}) : image;
        Tensor result = is_depthwise ? depthwise(given) : full(given);
        if (is_first) result = permute_dimensions(result, {0, 2, 3, 1});
        const std::int64_t stride = is_depthwise ? 1 : 2, filters = is_depthwise ? 6 : 4;
        const Windows rows{6, 3, stride, is_same}, columns{5, 2, 1, is_same};
        const Array kernel = waves(is_depthwise ? std::vector<std::int64_t>{3, 2, 3, 2}
                                                : std::vector<std::int64_t>{3, 2, 3, 4},
                                   0.3);
        const Array bias = waves({filters}, 0.3);
        check_images(
            eval(result), {2, rows.count(), columns.count(), filters},
            [&](std::int64_t b, std::int64_t i, std::int64_t j, std::int64_t f) {
              double sum = static_cast<double>(bias.at<float>(f));
              for (std::int64_t k = 0; k < 18; ++k) {
                const std::int64_t r = k / 6, s = k / 3 % 2, c = k % 3;
                const std::int64_t row = rows.start(i) + r, column = columns.start(j) + s;
                if (!rows.has(row) || !columns.has(column)) continue;
                if (is_depthwise && c != f / 2) continue;
                sum += static_cast<double>(x.at<float>(b, row, column, c)) *
                       static_cast<double>(kernel.at<float>(r, s, c, is_depthwise ? f % 2 : f));
              }
              return std::tanh(sum);
            });
      }
    }
  }
}

TEST_CASE("layers: Conv1D pads causally, dilates, and may lack a bias") {
  const L::Conv1D conv(
      2, 2,
      {.padding = "causal", .dilation_rate = 2, .use_bias = false, .kernel_initializer = kWaves});
  const Array x = waves({1, 6, 3}), kernel = waves({2, 3, 2}, 0.3);
  const Array y = eval(conv(constant(x)));
  REQUIRE(y.dims() == std::vector<std::int64_t>{1, 6, 2});
  CHECK(conv.weights().size() == 1);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t f = 0; f < 2; ++f) {
      double sum = 0;
      for (std::int64_t k = 0; k < 2; ++k) {
        const std::int64_t at = i - 2 + 2 * k;
        for (std::int64_t c = 0; at >= 0 && c < 3; ++c) {
          sum += static_cast<double>(x.at<float>(0, at, c)) *
                 static_cast<double>(kernel.at<float>(k, c, f));
        }
      }
      CHECK(y.at<float>(0, i, f) == Approx(sum).margin(1e-5));
    }
  }
}

TEST_CASE("layers: pooling of images and sequences is that of plain loops in both formats") {
  const Array x = waves({2, 7, 5, 3});
  for (const bool is_mean : {false, true}) {
    for (const bool is_same : {false, true}) {
      for (const bool is_first : {false, true}) {
        const L::PoolingOptions o{.padding = is_same ? "same" : "valid",
                                  .data_format = is_first ? "channels_first" : "channels_last"};
        const Tensor image = constant(x);
        const Tensor given = is_first ? permute_dimensions(image, {0, 3, 1, 2}) : image;
        Tensor result =
            is_mean ? L::AveragePooling2D({3, 2}, o)(given) : L::MaxPooling2D({3, 2}, o)(given);
        if (is_first) result = permute_dimensions(result, {0, 2, 3, 1});
        const Windows rows{7, 3, 3, is_same}, columns{5, 2, 2, is_same};
        const auto pooled = [&](std::int64_t b, std::int64_t i, std::int64_t j, std::int64_t c) {
          double sum = 0, count = 0, largest = -std::numeric_limits<double>::infinity();
          for (std::int64_t k = 0; k < 6; ++k) {
            const std::int64_t row = rows.start(i) + k / 2, column = columns.start(j) + k % 2;
            if (!rows.has(row) || !columns.has(column)) continue;
            const double value = static_cast<double>(x.at<float>(b, row, column, c));
            sum += value, ++count, largest = std::max(largest, value);
          }
          return is_mean ? sum / count : largest;
        };
        check_images(eval(result), {2, rows.count(), columns.count(), 3}, pooled);
        // A sequence is an image of one column.
        const Tensor sequence = reshape(slice(image, {0, 0, 0, 0}, {-1, -1, 1, -1}), {2, 7, 3});
        const Tensor steps = is_first ? permute_dimensions(sequence, {0, 2, 1}) : sequence;
        Tensor line = is_mean ? L::AveragePooling1D(3, o)(steps) : L::MaxPooling1D(3, o)(steps);
        if (is_first) line = permute_dimensions(line, {0, 2, 1});
        const auto along = [&](std::int64_t b, std::int64_t i, std::int64_t, std::int64_t c) {
          double sum = 0, count = 0, largest = -std::numeric_limits<double>::infinity();
          for (std::int64_t k = 0; k < 3; ++k) {
            const std::int64_t row = rows.start(i) + k;
            if (!rows.has(row)) continue;
            const double value = static_cast<double>(x.at<float>(b, row, 0, c));
            sum += value, ++count, largest = std::max(largest, value);
          }
          return is_mean ? sum / count : largest;
        };
        check_images(eval(expand_dims(line, {.axis = 2})), {2, rows.count(), 1, 3}, along);
      }
    }
  }
}

TEST_CASE("layers: global pooling reduces spatial axes, and counts what a mask has") {
  const Array x = waves({2, 4, 3, 5});
  const auto image = constant(x);
  double sum = 0, largest = -2;
  for (std::int64_t k = 0; k < 12; ++k) {
    const double value = static_cast<double>(x.at<float>(1, k / 3, k % 3, 2));
    sum += value, largest = std::max(largest, value);
  }
  CHECK(eval(L::GlobalAveragePooling2D()(image)).at<float>(1, 2) == Approx(sum / 12));
  CHECK(eval(L::GlobalMaxPooling2D()(image)).at<float>(1, 2) == Approx(largest));
  const auto first = permute_dimensions(image, {0, 3, 1, 2});
  const L::GlobalMaxPooling2D kept({.data_format = "channels_first", .keepdims = true});
  CHECK(eval(kept(first)).at<float>(1, 2, 0, 0) == Approx(largest));

  const Array steps = waves({2, 4, 3});
  const auto sequence = constant(steps);
  const Array mask({true, false, true, true, false, true, false, false}, {2, 4});
  const Array masked =
      eval(L::GlobalAveragePooling1D()(sequence, {.mask = constant(mask, {.dtype = "bool"})}));
  const auto at = [&](std::int64_t b, std::int64_t t) {
    return static_cast<double>(steps.at<float>(b, t, 1));
  };
  CHECK(masked.at<float>(0, 1) == Approx((at(0, 0) + at(0, 2) + at(0, 3)) / 3));
  CHECK(masked.at<float>(1, 1) == Approx(at(1, 1)));
  const double most = std::max({at(1, 0), at(1, 1), at(1, 2), at(1, 3)});
  CHECK(eval(L::GlobalMaxPooling1D()(sequence)).at<float>(1, 1) == Approx(most));
}

TEST_CASE("layers: convolutions and pooling have Keras' names and shapes of variables") {
  clear_session();
  const L::Conv1D conv1d(4, 3);
  const L::Conv2D conv2d(4, 3);
  const L::DepthwiseConv2D depthwise(3, {.depth_multiplier = 2});
  const Tensor y1 = conv1d(ones({1, 9, 2})), y2 = conv2d(ones({1, 9, 9, 2}));
  const Tensor y3 = depthwise(ones({1, 9, 9, 2}));
  CHECK(conv1d.weights()[0].name() == "conv1d/kernel");
  CHECK(get_variable_shape(conv1d.weights()[0]) == std::vector<std::int64_t>{3, 2, 4});
  CHECK(get_variable_shape(conv2d.weights()[0]) == std::vector<std::int64_t>{3, 3, 2, 4});
  CHECK(conv2d.weights()[1].name() == "conv2d/bias");
  CHECK(depthwise.name() == "depthwise_conv2d");
  CHECK(get_variable_shape(depthwise.weights()[0]) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(get_variable_shape(depthwise.weights()[1]) == std::vector<std::int64_t>{4});
  CHECK(L::MaxPooling2D().name() == "max_pooling2d");
  CHECK(L::GlobalAveragePooling1D().name() == "global_average_pooling1d");
}

TEST_CASE("layers: convolutions of groups are those of Keras in both formats") {
  struct Row {
    const char* name;
    std::vector<std::int64_t> shape;
    std::function<L::Convolution(const char* format)> layer;
    const std::vector<float>& expected;
  };
  for (const Row& row : std::vector<Row>{
           {"Conv1D",
            {2, 7, 6},
            [](const char* format) {
              return L::Conv1D(
                  4, 3, {.strides = 2, .padding = "same", .data_format = format, .groups = 2});
            },
            kKerasGroupsConv1D},
           {"Conv2D",
            {2, 4, 5, 6},
            [](const char* format) {
              return L::Conv2D(6, {2, 3},
                               {.data_format = format, .groups = 3, .activation = "tanh"});
            },
            kKerasGroupsConv2D},
           {"a group for each channel",
            {2, 3, 2, 3},
            [](const char* format) {
              return L::Conv2D(6, {2, 1}, {.padding = "same", .data_format = format, .groups = 3});
            },
            kKerasGroupsChannels}}) {
    INFO(row.name);
    const Tensor x = constant(testing::wave(row.shape, 0.4, 1));
    const bool is_1d = row.shape.size() == 3;
    const Tensor first = permute_dimensions(
        x, is_1d ? std::vector<std::int64_t>{0, 2, 1} : std::vector<std::int64_t>{0, 3, 1, 2});
    const L::Convolution last = row.layer("channels_last"), other = row.layer("channels_first");
    const Tensor y = last(x), of_first = other(first);
    testing::set_waves({last});
    testing::set_waves({other});
    testing::check_near(eval(y), row.expected);
    const Tensor back = permute_dimensions(of_first, is_1d ? std::vector<std::int64_t>{0, 2, 1}
                                                           : std::vector<std::int64_t>{0, 2, 3, 1});
    testing::check_near(eval(back), row.expected);
    CHECK(get_variable_shape(last.weights()[0])[row.shape.size() - 2] ==
          row.shape.back() / (is_1d ? 2 : 3));
  }
}

TEST_CASE("layers: misuse of convolutions and pooling") {
  using testing::Misuse, testing::throws;
  const L::Conv2D conv(2, 3, {.name = "c"});
  const Tensor built = conv(ones({1, 5, 5, 3}));
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::Conv2D(0, 3); }, "Conv2D: filters 0 is not positive"},
      {throws<ValueError>(), [] { L::Conv2D(1, {1, 2, 3}); },
       "Conv2D: kernel_size (1, 2, 3) does not have 1 or 2 entries"},
      {throws<ValueError>(), [] { L::Conv1D(1, 0); }, "Conv1D: kernel_size 0 is not positive"},
      {throws<ValueError>(), [] { L::Conv2D(1, 3, {.padding = "causal"}); },
       "Conv2D: unknown padding 'causal': expected valid, same"},
      {throws<ValueError>(), [] { L::Conv2D(3, 3, {.groups = 2}); },
       "Conv2D: filters 3 are not a multiple of groups 2"},
      {throws<ValueError>(), [] { L::Conv1D(2, 3, {.groups = 0}); },
       "Conv1D: groups 0 is not positive"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::Conv1D(2, 3, {.groups = 2, .name = "g"})(ones({1, 5, 3}))); },
       "Conv1D: layer 'g' has 2 groups, which do not divide 3 channels of inputs"},
      {throws<ValueError>(), [=] { static_cast<void>(conv(ones({5, 5, 3}))); },
       "Conv2D: layer 'c' requires inputs of rank 4, not float32[5,5,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(conv(ones({1, 5, 5, 4}))); },
       "Conv2D: layer 'c' requires size 3 of axis -1 of inputs, as at its first call, not "
       "float32[1,5,5,4]"},
      {throws<ValueError>(), [] { L::DepthwiseConv2D(3, {.depth_multiplier = 0}); },
       "DepthwiseConv2D: depth_multiplier 0 is not positive"},
      {throws<ValueError>(), [] { L::MaxPooling1D({2, 2}); },
       "MaxPooling1D: pool_size and strides are not one number each"},
      {throws<ValueError>(), [] { L::MaxPooling2D(2, {.padding = "full"}); },
       "MaxPooling2D: unknown padding 'full': expected valid, same"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::AveragePooling2D(2, {.name = "p"})(ones({1, 4, 4}))); },
       "AveragePooling2D: layer 'p' requires inputs of rank 4, not float32[1,4,4]"},
      {throws<ValueError>(3),
       [] {
         static_cast<void>(
             L::GlobalMaxPooling1D({.name = "g"})(ones({1, 4, 4}), {.mask = ones({1, 4})}));
       },
       "GlobalMaxPooling1D: layer 'g' takes no mask"}});
}

}  // namespace kiln
