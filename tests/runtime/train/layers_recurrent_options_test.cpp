// Tests dropout and states of recurrent layers against Keras.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

namespace kiln {
namespace {

namespace L = kiln::layers;
using testing::check_near;
using testing::set_waves;
using testing::wave;

// Keras 3.5: keras_layer_options.py.
const std::vector<float> kKerasDroppedSimpleRnn{0.73172504f, 0.839537f, 0.047964875f, -0.79490805f};
const std::vector<float> kKerasDroppedLstm{-0.24658647f, -0.21812187f, -0.0076220264f,
                                           -0.046748262f};
const std::vector<float> kKerasDroppedGru{-0.2525531f, 0.13143383f, 0.07447529f, 0.4531885f};
const std::vector<float> kKerasDroppedGruBefore{-0.17633261f, 0.178176f, 0.14326544f, 0.5948881f};
const std::vector<float> kKerasStateful0{-0.028429374f, 0.08692327f, -0.07961342f, 0.038512357f};
const std::vector<float> kKerasStateful1{0.018499384f, 0.115597226f, -0.0031835218f, 0.08660313f};
const std::vector<float> kKerasReset{-0.028429374f, 0.08692327f, -0.07961342f, 0.038512357f};

/// keras_layer_options.py has the masks of this seed in the call of that number.
constexpr int kDropoutSeed = 7, kDropoutCall = 6;

Function dropout_function(const std::vector<Tensor>& inputs, const Tensor& output) {
  return function(inputs, {output}, {.random = RandomState(0, kDropoutCall)});
}

}  // namespace

TEST_CASE("layers: dropout of recurrent layers is that of Keras, in training only") {
  struct Row {
    const char* name;
    L::Recurrent layer, plain;
    const std::vector<float>& expected;
  };
  const L::RecurrentOptions dropped{
      .dropout = 0.5, .recurrent_dropout = 0.25, .seed = kDropoutSeed};
  L::RecurrentOptions before = dropped;
  before.reset_after = false;
  const Tensor x = constant(wave({2, 5, 3}, 0.2, 1));
  // The masks that the script has.
  CHECK(dropout_function({}, dropout(ones({2, 1, 3}), 0.5, {.seed = kDropoutSeed}))()[0] ==
        Array({2.f, 0.f, 2.f, 0.f, 2.f, 2.f}, {2, 1, 3}));
  const Array units =
      dropout_function({}, dropout(ones({2, 2}), 0.25, {.seed = kDropoutSeed + 1}))()[0];
  check_near(units, {4 / 3.f, 4 / 3.f, 0, 4 / 3.f});
  for (const Row& row : std::vector<Row>{
           {"SimpleRNN", L::SimpleRNN(2, dropped), L::SimpleRNN(2), kKerasDroppedSimpleRnn},
           {"LSTM", L::LSTM(2, dropped), L::LSTM(2), kKerasDroppedLstm},
           {"GRU", L::GRU(2, dropped), L::GRU(2), kKerasDroppedGru},
           {"GRU before", L::GRU(2, before), L::GRU(2, {.reset_after = false}),
            kKerasDroppedGruBefore}}) {
    INFO(row.name);
    const Tensor phase = learning_phase();
    const Tensor trained = row.layer(x, {.training = true}), tested = row.layer(x);
    const Tensor plain = row.plain(x);
    set_waves({row.layer});
    set_waves({row.plain});
    check_near(dropout_function({}, trained)()[0], row.expected);
    CHECK(eval(tested) == eval(plain));
    CHECK(eval(row.layer(x, {.training = false})) == eval(plain));
    const Tensor either = row.layer(x);
    check_near(dropout_function({phase}, either)({true})[0], row.expected);
    CHECK(dropout_function({phase}, either)({false})[0] == eval(plain));
  }
}

TEST_CASE("layers: dropout of a recurrent layer draws one mask per call for all steps") {
  // h is the input itself: the mask is what the outputs show.
  const L::SimpleRNN copies(50, {.activation = None,
                                 .use_bias = false,
                                 .kernel_initializer = "identity",
                                 .recurrent_initializer = "zeros",
                                 .dropout = 0.25,
                                 .seed = 1,
                                 .return_sequences = true});
  const Function f = function({}, {copies(ones({20, 4, 50}), {.training = true})});
  const Array first = f()[0], second = f()[0];
  CHECK_FALSE(first == second);
  int kept = 0;
  for (std::int64_t b = 0; b < 20; ++b) {
    for (std::int64_t u = 0; u < 50; ++u) {
      const float factor = first.at<float>(b, 0, u);
      CHECK((factor == 0 || factor == Approx(1 / 0.75)));
      kept += factor != 0;
      for (std::int64_t t = 1; t < 4; ++t) CHECK(first.at<float>(b, t, u) == factor);
    }
  }
  CHECK(kept == Approx(750).margin(60));
}

TEST_CASE("layers: stateful layers go on as those of Keras, until they are reset") {
  const L::Bidirectional both(L::GRU(2, {.return_sequences = true, .stateful = true}));
  const L::LSTM lstm(2, {.stateful = true, .name = "l"});
  CHECK(lstm.states().empty());
  const Tensor x = placeholder({.shape = {2, None, 3}});
  const Tensor y = lstm(both(x));
  set_waves({both, lstm});
  const Function go_on = function({x}, {y}, {.updates = L::updates({both, lstm})});
  const Function look = function({x}, {y});
  const Array first = wave({2, 5, 3}, 0.2, 1), second = wave({2, 5, 3}, 1.2, 1);
  check_near(go_on({first})[0], kKerasStateful0);
  check_near(look({second})[0], kKerasStateful1);
  const Array last = go_on({second})[0];
  check_near(last, kKerasStateful1);
  CHECK(get_value(lstm.states()[0]) == last);
  CHECK(lstm.weights().size() == 3);
  CHECK(lstm.states()[0].name() == "l/rnn_state");
  CHECK(lstm.states()[1].name() == "l/rnn_state_1");
  CHECK(both.states().size() == 2);
  lstm.reset_state();
  both.reset_state();
  CHECK(get_value(both.states()[1]) == Array::zeros({2, 2}));
  check_near(go_on({first})[0], kKerasReset);
}

TEST_CASE("layers: a later call of a stateful layer begins with the variables, too") {
  const L::GRU gru(2, {.stateful = true});
  const Tensor x = placeholder({.shape = {2, 5, 3}}), step = placeholder({.shape = {2, 1, 3}});
  const Tensor of_all = gru(x);
  const Function whole = function({x}, {of_all}, {.updates = gru.updates()});
  const Tensor of_one = gru(step);
  const Function one = function({step}, {of_one}, {.updates = gru.updates()});
  const Array all = wave({2, 5, 3}, 0.2, 1);
  const Array expected = whole({all})[0];
  gru.reset_state();
  Array last;
  for (std::int64_t t = 0; t < 5; ++t) {
    last = one({eval(slice(constant(all), {0, t, 0}, {-1, 1, -1}))})[0];
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(last.as<float>()[static_cast<std::size_t>(i)] ==
          Approx(expected.as<float>()[static_cast<std::size_t>(i)]).epsilon(1e-5));
  }
  // A given state takes their place.
  const Array zero = Array::zeros({2, 2});
  CHECK(eval(gru(constant(all), {.initial_state = {constant(zero)}})) == expected);
}

TEST_CASE("layers: misuse of dropout and states of recurrent layers") {
  using testing::Misuse, testing::throws;
  const L::LSTM plain(2, {.name = "p"}), stateful(2, {.stateful = true, .name = "s"});
  const L::Bidirectional both(L::GRU(2, {.name = "g"}), {.name = "b"});
  const Tensor x = placeholder({.shape = {None, 4, 3}, .name = "x"});
  const Tensor built = stateful(ones({2, 4, 3}));
  const L::GRU unknown(2, {.stateful = true, .name = "u"});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::LSTM(2, {.dropout = 1}); },
       "LSTM: dropout 1 is outside [0, 1)"},
      {throws<ValueError>(), [] { L::GRU(2, {.recurrent_dropout = -0.5}); },
       "GRU: recurrent_dropout -0.5 is outside [0, 1)"},
      {throws<ValueError>(), [=] { static_cast<void>(unknown(x)); },
       "GRU: layer 'u' requires a known size of axis 0 of sequences, not x float32[None,4,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(stateful(ones({3, 4, 3}))); },
       "LSTM: layer 's' requires size 2 of axis 0 of sequences, as at its first call, not "
       "float32[3,4,3]"},
      {throws<ValueError>(), [=] { plain.reset_state(); }, "LSTM: layer 'p' is not stateful"},
      {throws<ValueError>(), [=] { static_cast<void>(plain.states()); },
       "LSTM: layer 'p' is not stateful"},
      {throws<ValueError>(), [=] { both.reset_state(); },
       "GRU: layer 'b/forward_g' is not stateful"}});
}

}  // namespace kiln
