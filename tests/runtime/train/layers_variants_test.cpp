// Tests SeparableConv1D, SeparableConv2D, Conv2DTranspose, GroupNormalization and PReLU against
// Keras.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

#include <functional>

namespace kiln {
namespace {

namespace L = kiln::layers;
using testing::check_near;
using testing::set_waves;
using testing::wave;

// Keras 3.5: keras_layer_options.py.
const std::vector<float> kKerasSeparable1D{
    0.18757784f,  -0.12803048f, -0.3834241f,  -0.45848736f, -0.051417112f, -0.26147228f,
    -0.34855294f, -0.27170372f, 0.14581126f,  -0.35356945f, -0.686661f,    -0.6968051f,
    0.11655648f,  -0.17885324f, -0.3901455f,  -0.4179462f,  0.043036804f,  -0.1946754f,
    -0.34082872f, -0.32668498f, 0.1774977f,   -0.2532345f,  -0.5648666f,   -0.6108331f,
    0.11463193f,  -0.17798494f, -0.38689268f, -0.41383877f, -0.05081562f,  -0.26485953f,
    -0.3543359f,  -0.27716252f, 0.14904016f,  -0.35191023f, -0.6873518f,   -0.69952106f,
    -0.03872008f, -0.35301602f, -0.50128305f, -0.41378877f};
const std::vector<float> kKerasSeparable2D{
    -0.16806772f, -0.43636578f, -0.4973705f,  0.3187128f,    -0.16210109f, -0.5229445f,
    0.092744246f, 0.06614149f,  0.008311765f, -0.037344426f, -0.5341324f,  -0.7034975f,
    0.07540934f,  0.06160569f,  0.018801708f, -0.021217916f, -0.53635967f, -0.7139072f,
    0.29037344f,  -0.33235896f, -0.6791023f,  -0.1026946f,   -0.07958416f, -0.018936457f};
// With KERAS_BACKEND=jax: see the script.
const std::vector<float> kKerasTransposeSame{
    1.3892795f,   -0.5268427f,  0.2677281f,    1.142955f,   -0.306128f,   0.40951505f,
    0.094065756f, 0.2113109f,   -0.10747996f,  0.22008991f, 1.0056472f,   -0.713173f,
    1.3782853f,   -0.54826695f, 0.30035406f,   1.1314368f,  -0.31303033f, 0.43518668f,
    0.08708638f,  0.22540411f,  -0.11796668f,  0.24185602f, 0.9800682f,   -0.71588475f,
    2.3097525f,   -1.3094016f,  0.13739872f,   2.0571063f,  -1.0981643f,  0.6584556f,
    -0.27282265f, 0.2190283f,   -0.6695086f,   0.26611206f, 1.5064211f,   -1.6351165f,
    1.3873283f,   -0.5486513f,  0.2916991f,    1.1405602f,  -0.33162448f, 0.43788213f,
    0.093758166f, 0.20741108f,  -0.09730175f,  0.23726067f, 0.98198664f,  -0.7068405f,
    1.4067627f,   -0.52671224f, 0.25011295f,   1.1606103f,  -0.3425536f,  0.41350436f,
    0.10864109f,  0.17516303f,  -0.06647506f,  0.21233281f, 1.0085456f,   -0.6943301f,
    1.3961076f,   -0.54882f,    0.28309023f,   1.1494212f,  -0.34999624f, 0.44051415f,
    0.100532025f, 0.18941982f,  -0.076480836f, 0.23265865f, 0.98375607f,  -0.697536f,
    2.3448408f,   -1.3100884f,  0.10300371f,   2.0925217f,  -1.1716087f,  0.6689921f,
    -0.24574879f, 0.14711699f,  -0.5862833f,   0.24772741f, 1.5134796f,   -1.5979235f,
    1.4046208f,   -0.5487732f,  0.2745298f,    1.1580178f,  -0.3681406f,  0.44308206f,
    0.10740599f,  0.1714354f,   -0.055509716f, 0.22805128f, 0.9853759f,   -0.6879738f};
const std::vector<float> kKerasTransposeValid{
    0.8830123f,   -0.48296395f, 0.252707f,    0.9068346f,   -0.5765539f,  0.04065675f,  0.6737799f,
    -0.14930953f, 0.8805667f,   -0.4992202f,  0.29590195f,  0.9034806f,   -0.59492886f, 0.0872677f,
    0.66980165f,  -0.15592434f, 0.42571273f,  0.21049567f,  0.42571273f,  0.21049567f,  0.42571273f,
    0.21049567f,  0.42571273f,  0.21049567f,  -0.43857494f, 0.52572155f,  0.9602534f,   -0.8964309f,
    0.56744117f,  0.9341727f,   -0.28848615f, 0.034298386f, -0.44118503f, 0.5460619f,   0.9573156f,
    -0.9011351f,  0.607446f,    0.9292634f,   -0.3079284f,  0.067113884f, 0.42571273f,  0.21049567f,
    0.42571273f,  0.21049567f,  0.42571273f,  0.21049567f,  0.42571273f,  0.21049567f};
const std::vector<float> kKerasTransposePadding{
    0.6057316f,   0.15004736f,  0.7064741f,    0.34134156f,    -0.3655768f,  -0.034013677f, 0.0f,
    -0.55472535f, -0.33861753f, -0.59044045f,  -0.5420525f,    0.3540144f,   0.1543553f,    0.0f,
    -0.3911286f,  0.13515466f,  0.48935592f,   0.5941759f,     0.5574775f,   0.066826105f,  0.0f,
    0.7107821f,   0.5945232f,   -0.112395205f, 0.047743496f,   -0.74898905f, -0.57829356f,  0.0f,
    -0.5086833f,  -0.76744205f, 0.12862486f,   -0.0040194914f, 0.55240726f,  0.76607573f,   0.0f,
    0.0f,         0.0f,         0.0f,          0.0f,           0.0f,         0.0f,          0.0f};
const std::vector<float> kKerasTransposeDilated{
    1.0603803f,   0.3637373f,    1.1611228f,   0.5550315f,   -0.100076646f, -0.124927595f,
    -0.13579175f, -0.32836258f,  0.0890719f,   0.17967626f,  -0.37609753f,  -0.13921402f,
    0.80866313f,  0.36804524f,   1.1654308f,   0.8082131f,   0.89426637f,   0.70174855f,
    0.8608269f,   0.8938163f,    0.18093893f,  -0.36741203f, 0.27966878f,   -0.5259181f,
    0.15310496f,  -0.043170437f, -0.05403462f, -0.5537521f,  0.66887677f,   0.54337376f,
    0.7024521f,   1.0653689f};
const std::vector<float> kKerasGroupLast{
    0.77561593f,   0.94327235f,  0.24381143f,  -0.39852425f, 0.1626813f,   -0.6259933f,
    -0.5436347f,   -0.42734528f, 0.29155686f,  0.60409784f,  0.2680375f,   -0.38644573f,
    0.66163266f,   -0.14467517f, -0.47406775f, -0.43469763f, -0.16463023f, 0.03625508f,
    0.11271633f,   -0.38466913f, 1.0223408f,   0.44407508f,  -0.25094053f, -0.43069318f,
    -0.048590094f, -0.18334587f, -0.21459258f, -0.39326847f, 1.0030714f,   0.80417734f,
    0.012037858f,  -0.42272294f, 0.029644966f, -0.37800312f, -0.5404365f,  -0.41393912f,
    0.8123517f,    0.8622274f,   0.27404043f,  -0.40103728f, 0.31081063f,  -0.2927379f,
    -0.7083219f,   -0.43413392f, 0.4732303f,   0.64349973f,  0.32840866f,  -0.38466698f};
const std::vector<float> kKerasGroupFirst{
    0.61151767f,  0.8466543f,   0.81467086f,  0.3032092f,   -0.17118064f, -0.5620842f,
    -0.57946444f, -0.46085703f, -0.20682696f, -0.39738563f, -0.38760078f, -0.38925254f,
    1.0501086f,   0.55294794f,  0.14870387f,  -0.28970194f, -0.03180307f, 0.5055397f,
    0.014034241f, 0.19146633f,  0.1554057f,   -0.40602475f, -0.42570716f, -0.44149688f};
const std::vector<float> kKerasGroupEach{
    0.25698513f, 0.588413f,    0.38888872f,   0.16096346f, -0.2823164f,  -0.3635783f,
    -0.8348729f, -0.6037238f,  -0.04335794f,  0.26663697f, 0.5915281f,   0.3857851f,
    0.1502874f,  -0.29390103f, -0.36773762f,  -0.5128664f, -0.4874875f,  -0.119188115f,
    0.37550053f, 0.5942988f,   0.37433815f,   0.26613176f, -0.22403058f, -0.51499987f,
    -0.5118063f, -0.47955608f, -0.110568464f, 0.38304046f, 0.5967754f,   0.3704183f};
const std::vector<float> kKerasPReLU{0.5646425f,    0.9635582f,  0.9092974f,  0.42737988f,
                                     0.07817742f,   0.39994526f, -0.4191218f, -0.34982976f,
                                     -0.028061917f, 0.5784398f,  0.96791965f, 0.90217185f};
const std::vector<float> kKerasPReLUShared{0.5646425f,    0.9635582f,   0.9092974f,  0.42737988f,
                                           -0.12670557f,  -0.27635804f, -0.4191218f, -0.34982976f,
                                           -0.028061917f, 0.5784398f,   0.96791965f, 0.90217185f};
const std::vector<float> kKerasAxes{
    0.38069463f,   0.2295739f,   -0.02951901f,  -0.27472866f, 0.3792693f,    0.22799464f,
    -0.030509528f, -0.27466455f, 0.38127393f,   0.23037708f,  -0.028869733f, -0.27453864f,
    0.4123273f,    0.2455225f,   -0.036755368f, -0.3017466f,  0.41788593f,   0.2518518f,
    -0.032632176f, -0.30176872f, 0.41277212f,   0.24586648f,  -0.036673993f, -0.30196613f,
    0.38397864f,   0.23255748f,  -0.028239079f, -0.27575436f, 0.38307717f,   0.23154494f,
    -0.028886475f, -0.27573216f, 0.38339114f,   0.2319737f,   -0.028544594f, -0.27563792f,
    0.38104808f,   0.2294841f,   -0.030009858f, -0.27538967f, 0.37995464f,   0.2282919f,
    -0.030740116f, -0.27531457f, 0.38156602f,   0.23020357f,  -0.029427204f, -0.27521792f};

/// A layer with Keras' figures for a wave of that shape.
struct VariantRow {
  const char* name;
  std::vector<std::int64_t> shape;
  const std::vector<float>& expected;
  std::function<Tensor(const Tensor&)> call;
  std::vector<L::Layer> layers;
};

template <class LayerClass>
VariantRow variant(const char* name, const LayerClass& layer,
                   const std::vector<std::int64_t>& shape, const std::vector<float>& expected) {
  return {name, shape, expected, [layer](const Tensor& x) { return Tensor(layer(x)); }, {layer}};
}

void check_variants(const std::vector<VariantRow>& rows, double phase) {
  for (const VariantRow& row : rows) {
    INFO(row.name);
    const Array values = wave(row.shape, phase, 1);
    const Tensor known = row.call(constant(values));
    set_waves(row.layers);
    check_near(eval(known), row.expected);
    // Unknown sizes of samples and of inner axes.
    std::vector<ShapeEntry> sizes(row.shape.begin(), row.shape.end());
    sizes[0] = None;
    const Tensor x = placeholder({.shape = sizes});
    CHECK(function({x}, {row.call(x)})({values})[0] == eval(known));
    for (const Tensor& gradient : gradients(sum(square(known)), L::trainable_weights(row.layers))) {
      CHECK(eval(max(abs(gradient))).item<float>() > 0);
    }
  }
}

/// (samples, rows, columns, channels) to (samples, channels, rows, columns).
Tensor channels_first(const Tensor& x) { return permute_dimensions(x, {0, 3, 1, 2}); }

}  // namespace

TEST_CASE("layers: separable convolutions are those of Keras") {
  check_variants(
      {variant("1D", L::SeparableConv1D(4, 3, {.padding = "same", .depth_multiplier = 2}),
               {2, 5, 3}, kKerasSeparable1D),
       variant("2D", L::SeparableConv2D(3, {2, 3}, {.strides = 2, .activation = "tanh"}),
               {2, 5, 6, 2}, kKerasSeparable2D)},
      0.4);
}

TEST_CASE("layers: Conv2DTranspose is that of Keras, with all paddings") {
  check_variants(
      {variant("same", L::Conv2DTranspose(2, 3, {.strides = 2, .padding = "same"}), {2, 2, 3, 3},
               kKerasTransposeSame),
       variant("valid", L::Conv2DTranspose(2, {2, 3}, {.strides = {3, 1}, .activation = "tanh"}),
               {1, 2, 2, 3}, kKerasTransposeValid),
       variant("output_padding",
               L::Conv2DTranspose(1, {3, 2},
                                  {.strides = 2, .output_padding = Steps(1), .use_bias = false}),
               {1, 2, 3, 2}, kKerasTransposePadding),
       variant("dilated", L::Conv2DTranspose(2, 2, {.dilation_rate = 2}), {1, 2, 2, 2},
               kKerasTransposeDilated)},
      0.4);
}

TEST_CASE("layers: convolutions of images have channels first, too, and unknown sizes") {
  const Array values = wave({2, 2, 3, 3}, 0.4, 1);
  const L::Conv2DTranspose last(2, 3, {.strides = 2, .padding = "same"});
  const L::Conv2DTranspose first(
      2, 3, {.strides = 2, .padding = "same", .data_format = "channels_first"});
  const L::SeparableConv2D separable(2, 2), other(2, 2, {.data_format = "channels_first"});
  const Tensor x = constant(values), y = last(x), z = separable(x);
  const Tensor of_first = first(channels_first(x)), of_other = other(channels_first(x));
  for (const L::Layer& layer : std::vector<L::Layer>{last, first, separable, other}) {
    set_waves({layer});
  }
  CHECK(eval(of_first) == eval(channels_first(y)));
  CHECK(eval(of_other) == eval(channels_first(z)));
  const Tensor unknown = placeholder({.shape = {None, None, None, 3}});
  CHECK(function({unknown}, {last(unknown)})({values})[0] == eval(y));
}

TEST_CASE("layers: GroupNormalization and PReLU are those of Keras") {
  check_variants(
      {variant("last", L::GroupNormalization({.groups = 2}), {2, 2, 3, 4}, kKerasGroupLast),
       variant("first", L::GroupNormalization({.groups = 2, .axis = 1, .epsilon = 0.1}), {2, 4, 3},
               kKerasGroupFirst),
       variant("each", L::GroupNormalization({.groups = -1, .center = false}), {2, 5, 3},
               kKerasGroupEach),
       variant("PReLU", L::PReLU(), {2, 2, 3}, kKerasPReLU),
       variant("shared", L::PReLU({.shared_axes = 1}), {2, 2, 3}, kKerasPReLUShared)},
      0.6);
  const L::GroupNormalization norm({.groups = 2});
  const Tensor x = placeholder({.shape = {None, None, 3, 4}});
  const Tensor y = norm(x);
  set_waves({norm});
  check_near(function({x}, {y})({wave({2, 2, 3, 4}, 0.6, 1)})[0], kKerasGroupLast);
}

TEST_CASE("layers: axes folded into samples are Keras' attention_axes") {
  const L::MultiHeadAttention attention(2, 3);
  const Tensor rows = reshape(constant(wave({2, 2, 3, 4}, 0.2, 1)), {-1, 3, 4});
  const Tensor y = attention(rows, rows);
  set_waves({attention});
  check_near(eval(y), kKerasAxes);
}

TEST_CASE("layers: these layers have Keras' names and shapes of variables") {
  clear_session();
  const L::SeparableConv2D separable(4, 3, {.depth_multiplier = 2});
  const L::Conv2DTranspose transpose(4, 3);
  const L::GroupNormalization group({.groups = 3});
  const L::PReLU prelu({.shared_axes = {1, 2}});
  const Tensor x = ones({1, 5, 5, 3});
  const Tensor a = separable(x), b = transpose(x), c = group(x), d = prelu(x);
  CHECK(separable.weights()[0].name() == "separable_conv2d/depthwise_kernel");
  CHECK(separable.weights()[1].name() == "separable_conv2d/pointwise_kernel");
  CHECK(get_variable_shape(separable.weights()[0]) == std::vector<std::int64_t>{3, 3, 3, 2});
  CHECK(get_variable_shape(separable.weights()[1]) == std::vector<std::int64_t>{1, 1, 6, 4});
  CHECK(transpose.weights()[0].name() == "conv2d_transpose/kernel");
  CHECK(get_variable_shape(transpose.weights()[0]) == std::vector<std::int64_t>{3, 3, 4, 3});
  CHECK(group.weights()[0].name() == "group_normalization/gamma");
  CHECK(prelu.weights()[0].name() == "p_re_lu/alpha");
  CHECK(get_variable_shape(prelu.weights()[0]) == std::vector<std::int64_t>{1, 1, 3});
}

TEST_CASE("layers: misuse of separable and transposed convolutions, groups and slopes") {
  using testing::Misuse, testing::throws;
  const L::Conv2DTranspose built(2, 3, {.name = "t"});
  const L::SeparableConv1D separable(2, 3, {.name = "s"});
  const L::GroupNormalization group({.groups = 2, .name = "g"});
  const L::PReLU prelu({.name = "p"});
  const Tensor y = built(ones({1, 2, 2, 3})), z = separable(ones({1, 4, 3}));
  const Tensor u = group(ones({1, 4})), v = prelu(ones({1, 4}));
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::Conv2DTranspose(0, 3); },
       "Conv2DTranspose: filters 0 is not positive"},
      {throws<ValueError>(), [] { L::Conv2DTranspose(1, 3, {.padding = "causal"}); },
       "Conv2DTranspose: unknown padding 'causal': expected valid, same"},
      {throws<ValueError>(), [] { L::Conv2DTranspose(1, 3, {.strides = {1, 2, 3}}); },
       "Conv2DTranspose: strides (1, 2, 3) does not have 1 or 2 entries"},
      {throws<ValueError>(), [] { L::Conv2DTranspose(1, 3, {.strides = 0}); },
       "Conv2DTranspose: strides 0 is not positive"},
      {throws<ValueError>(), [] { L::Conv2DTranspose(1, 3, {.dilation_rate = INT64_MAX}); },
       "Conv2DTranspose: dilation_rate 9223372036854775807 is too large"},
      {throws<ValueError>(1),
       [] { L::Conv2DTranspose(1, 3, {.strides = 2, .output_padding = Steps(2)}); },
       "Conv2DTranspose: output_padding 2 is outside [0, stride 2)"},
      {throws<ValueError>(), [=] { static_cast<void>(built(ones({1, 2, 2, 4}))); },
       "Conv2DTranspose: layer 't' requires size 3 of axis -1 of inputs, as at its first call, not "
       "float32[1,2,2,4]"},
      {throws<ValueError>(), [=] { static_cast<void>(built(ones({1, 2, 3}))); },
       "Conv2DTranspose: layer 't' requires inputs of rank 4, not float32[1,2,3]"},
      {throws<ValueError>(), [] { L::SeparableConv2D(1, 3, {.depth_multiplier = 0}); },
       "SeparableConv2D: depth_multiplier 0 is not positive"},
      {throws<ValueError>(), [] { L::SeparableConv1D(1, {1, 2}); },
       "SeparableConv1D: kernel_size (1, 2) does not have 1 entry"},
      {throws<ValueError>(), [=] { static_cast<void>(separable(ones({1, 4, 2}))); },
       "SeparableConv1D: layer 's' requires size 3 of axis -1 of inputs, as at its first call, not "
       "float32[1,4,2]"},
      {throws<ValueError>(), [] { L::GroupNormalization({.groups = 0}); },
       "GroupNormalization: groups 0 is neither positive nor -1"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::GroupNormalization({.name = "h"})(ones({2, 4}))); },
       "GroupNormalization: layer 'h' has 32 groups, which do not divide 4 channels of inputs"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::GroupNormalization({.groups = -1, .name = "h"})(zeros({2, 0}))); },
       "GroupNormalization: layer 'h' has 0 groups, which do not divide 0 channels of inputs"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::GroupNormalization({.axis = -2, .name = "h"})(ones({2, 4}))); },
       "GroupNormalization: layer 'h' has axis -2, which is out of range or that of samples for "
       "float32[2,4]"},
      {throws<ValueError>(), [=] { static_cast<void>(group(ones({1, 6}))); },
       "GroupNormalization: layer 'g' requires size 4 of axis 1 of inputs, as at its first call, "
       "not float32[1,6]"},
      {throws<ValueError>(1),
       [] { static_cast<void>(L::PReLU({.shared_axes = 2, .name = "q"})(ones({2, 4}))); },
       "PReLU: layer 'q' has shared axis 2, which is out of range or that of samples for "
       "float32[2,4]"},
      {throws<ValueError>(), [=] { static_cast<void>(prelu(ones({1, 5}))); },
       "PReLU: layer 'p' requires slopes (4), as at its first call, not (5) for float32[1,5]"},
      {throws<TypeError>(), [=] { static_cast<void>(prelu(ones({1, 4}, {.dtype = "float64"}))); },
       "PReLU: layer 'p' requires inputs of dtype float32, not float64[1,4]"}});
}

}  // namespace kiln
