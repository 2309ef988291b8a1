// Tests frozen layers, and the regularizer of a layer's output, against Keras.
#include "tests/support/catch.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

namespace kiln {
namespace {

namespace L = kiln::layers;
using testing::check_near;
using testing::set_waves;
using testing::wave;

// Keras 3.5: keras_layer_options.py.
const std::vector<float> kKerasFrozen{0.17256361f, 0.22286588f, 0.1681808f,  0.18745624f,
                                      0.17843947f, 0.24273568f, 0.16349036f, 0.17397426f,
                                      0.18140244f, 0.24827191f};
const std::vector<float> kKerasFrozenLoss{0.07871106f};
const std::vector<float> kKerasActivity{0.33449984f};

}  // namespace

TEST_CASE("layers: frozen layers are those of Keras, BatchNormalization with its averages") {
  const Regularizer l2 = regularizers::L2({.l2 = 0.1});
  for (const bool is_option : {false, true}) {
    const L::Dense first(3, {.kernel_regularizer = l2, .trainable = !is_option});
    const L::BatchNormalization norm({.beta_regularizer = l2, .trainable = !is_option});
    const L::Dense last(2, {.kernel_regularizer = l2});
    if (!is_option) {
      first.set_trainable(false);
      const L::BatchNormalization copy = norm;
      copy.set_trainable(false);
    }
    CHECK_FALSE(norm.trainable());
    CHECK(last.trainable());
    const Tensor y = last(norm(first(constant(wave({5, 4}, 0.3, 1))), {.training = true}));
    const std::vector<L::Layer> layers{first, norm, last};
    set_waves(layers);
    check_near(eval(y), kKerasFrozen);
    CHECK(first.trainable_weights().empty());
    CHECK(norm.trainable_weights().empty());
    CHECK(L::trainable_weights(layers).size() == 2);
    CHECK(first.non_trainable_weights().size() == 2);
    CHECK(norm.non_trainable_weights().size() == 4);
    CHECK(L::updates(layers).empty());
    const auto losses = L::losses(layers);
    REQUIRE(losses.size() == 1);
    check_near(eval(losses[0]), kKerasFrozenLoss);
  }
}

TEST_CASE("layers: set_trainable reaches the layers inside, and can be undone") {
  const L::LSTM frozen(2, {.trainable = false});
  const L::Bidirectional both(frozen), other(L::GRU(2));
  other.set_trainable(false);
  const auto x = constant(wave({2, 5, 3}, 0.2, 1));
  const Tensor y = both(x), z = other(x);
  CHECK(both.trainable_weights().empty());
  CHECK(other.trainable_weights().empty());
  CHECK(other.non_trainable_weights().size() == 6);
  both.set_trainable(true);
  CHECK(both.trainable_weights().size() == 6);
  CHECK_FALSE(frozen.trainable());
}

TEST_CASE("layers: training leaves a frozen layer as it is") {
  const L::Dense first(3, {.trainable = false}), last(1);
  const auto x = constant(wave({4, 2}, 0.1, 1));
  const Tensor loss = mean(square(last(first(x)) - 1));
  const std::vector<L::Layer> layers{first, last};
  const auto sgd = optimizers::SGD({.learning_rate = 0.1});
  const Function train =
      function({}, {loss}, {.updates = sgd.minimize(loss, L::trainable_weights(layers))});
  const auto before = batch_get_value(L::weights(layers));
  const double begin = train()[0].item<float>();
  for (int i = 0; i < 5; ++i) train();
  CHECK(train()[0].item<float>() < begin);
  const auto after = batch_get_value(L::weights(layers));
  CHECK(after[0] == before[0]);
  CHECK(after[1] == before[1]);
  CHECK_FALSE(after[2] == before[2]);
}

TEST_CASE("layers: a regularizer of an output is Keras' activity_regularizer") {
  const L::Dense dense(2, {.activation = "tanh"});
  const Tensor y = dense(constant(wave({5, 4}, 0.3, 1)));
  set_waves({dense});
  check_near(eval(regularizers::L2({.l2 = 0.1})(y)), kKerasActivity);
}

}  // namespace kiln
