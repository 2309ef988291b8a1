// Tests a convolutional network with BatchNormalization, tested and trained, against Keras.
#include "tests/support/catch.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

namespace kiln {
namespace {

namespace L = kiln::layers;

// Keras 3.5: keras_layers.py.
const std::vector<float> kKerasTest{-0.20875904f, -0.1848705f,  -0.21479936f,
                                    -0.18826796f, -0.21424884f, -0.18760763f};
const std::vector<float> kKerasTraining{-0.19272937f, -0.1790496f,  -0.2052631f,
                                        -0.18722573f, -0.22024624f, -0.20343901f};
const std::vector<float> kKerasMean{-0.37317395f, -0.21094811f, 0.060857065f};
const std::vector<float> kKerasVariance{0.60702646f, 0.64888227f, 0.85615355f};

}  // namespace

TEST_CASE("layers: a convolutional network is that of Keras in both phases") {
  const L::Conv2D conv(3, 3, {.padding = "same", .activation = "relu"});
  const L::BatchNormalization norm({.momentum = 0.9});
  const L::DepthwiseConv2D depthwise(2, {.strides = 2, .depth_multiplier = 2});
  const L::LayerNormalization layer_norm;
  const L::Dense dense(2, {.activation = "silu"});
  const std::vector<L::Layer> layers{conv, norm, depthwise, layer_norm, dense};
  const Tensor x = constant(testing::wave({3, 6, 5, 2}, 0.4, 1)), phase = learning_phase();
  const Tensor pooled = L::MaxPooling2D(2, {.strides = 1})(layer_norm(depthwise(norm(conv(x)))));
  const Tensor y = dense(L::GlobalAveragePooling2D()(pooled));
  testing::set_waves(layers);
  const Function run = function({phase}, {y}, {.updates = L::updates(layers)});
  testing::check_near(run({false})[0], kKerasTest);
  testing::check_near(run({true})[0], kKerasTraining);
  testing::check_near(get_value(norm.weights()[2]), kKerasMean);
  testing::check_near(get_value(norm.weights()[3]), kKerasVariance);
}

}  // namespace kiln
