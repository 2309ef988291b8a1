// Tests SimpleRNN, LSTM, GRU and Bidirectional against plain loops, and a network of them with
// masks against Keras.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/runtime/train/wave.h"

#include <kiln/train.h>

#include <cmath>

namespace kiln {
namespace {

namespace L = kiln::layers;
using testing::check_near;
using testing::set_waves;
using testing::wave;

// Keras 3.5: keras_layers.py.
const std::vector<float> kKerasLstm{
    0.008783301f,  -0.053429935f, 0.037217215f, 0.1170107f,   -0.17332485f, -0.11657763f,
    0.08852262f,   0.08403629f,   0.0f,         0.0f,         0.0f,         0.0f,
    -0.04693189f,  -0.06986862f,  -0.0275769f,  0.047798537f, 0.0f,         0.0f,
    0.0f,          0.0f,          0.0f,         0.0f,         0.0f,         0.0f,
    0.0065717837f, -0.058459464f, 0.04502482f,  0.104973f,    -0.17640716f, -0.11171442f,
    0.099545345f,  0.060248703f,  0.0f,         0.0f,         0.0f,         0.0f,
    0.0f,          0.0f,          0.0f,         0.0f};
const std::vector<float> kKerasGru{0.12308483f, 0.30469555f, 0.39850837f, 0.2012892f,  0.4548915f,
                                   0.57721186f, 0.2012892f,  0.4548915f,  0.57721186f, 0.24102221f,
                                   0.51736027f, 0.64033943f, 0.24102221f, 0.51736027f, 0.64033943f,
                                   0.0f,        0.0f,        0.0f,        0.1253076f,  0.30687544f,
                                   0.39917806f, 0.2042469f,  0.45731947f, 0.57800114f, 0.2042469f,
                                   0.45731947f, 0.57800114f, 0.2042469f,  0.45731947f, 0.57800114f};
const std::vector<float> kKerasGruBefore{0.41142184f, 0.07715975f, 0.34188396f, 0.045014966f};
const std::vector<float> kKerasSimpleRnn{0.7402605f, 0.26411426f, 0.6554508f, 0.2063337f};

Array masks() {
  return Array({true, true, false, true, false, false, true, true, false, false}, {2, 5});
}

using Vector = std::vector<double>;

/// x (row) times columns [from, from + count) of a matrix.
Vector times(const Vector& x, const Array& matrix, std::int64_t from, std::int64_t count) {
  Vector y(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      y[static_cast<std::size_t>(j)] +=
          x[k] * matrix.at<double>(static_cast<std::int64_t>(k), from + j);
    }
  }
  return y;
}

/// Variables of a recurrent layer, in float64, and its state for one sample.
struct Loop {
  std::string kind;
  std::int64_t units;
  bool reset_after;
  std::vector<Array> weights;
  Vector h, c;

  Vector added(Vector y, std::int64_t row, std::int64_t from) const {
    const Array& bias = weights[2];
    for (std::size_t j = 0; j < y.size(); ++j) {
      const auto at = from + static_cast<std::int64_t>(j);
      y[j] += bias.rank() == 2 ? bias.at<double>(row, at) : row == 0 ? bias.at<double>(at) : 0;
    }
    return y;
  }

  void step(const Vector& x) {
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    const auto of_x = [&](std::int64_t gate) {
      return added(times(x, weights[0], gate * units, units), 0, gate * units);
    };
    const auto of = [&](const Vector& state, std::int64_t gate) {
      return added(times(state, weights[1], gate * units, units), 1, gate * units);
    };
    const Vector before = h;
    for (std::size_t j = 0; j < h.size(); ++j) {
      const auto gate = [&](std::int64_t i) { return of_x(i)[j] + of(before, i)[j]; };
      if (kind == "SimpleRNN") {
        h[j] = std::tanh(gate(0));
      } else if (kind == "LSTM") {
        c[j] = sigmoid(gate(1)) * c[j] + sigmoid(gate(0)) * std::tanh(gate(2));
        h[j] = sigmoid(gate(3)) * std::tanh(c[j]);
      } else {
        Vector reset = before;
        for (std::size_t k = 0; k < reset.size(); ++k) {
          reset[k] *= sigmoid(of_x(1)[k] + of(before, 1)[k]);
        }
        const double inner = reset_after ? sigmoid(gate(1)) * of(before, 2)[j] : of(reset, 2)[j];
        const double z = sigmoid(gate(0));
        h[j] = z * before[j] + (1 - z) * std::tanh(of_x(2)[j] + inner);
      }
    }
  }
};

L::Recurrent layer_of(const std::string& kind, const L::RecurrentOptions& options) {
  if (kind == "SimpleRNN") return L::SimpleRNN(2, options);
  if (kind == "LSTM") return L::LSTM(2, options);
  return L::GRU(2, options);
}

}  // namespace

TEST_CASE("layers: recurrent layers are plain loops, with masks and in both directions") {
  struct Row {
    const char* kind;
    bool reset_after, go_backwards, has_mask, has_state, unroll;
  };
  const Array x = wave({2, 5, 3}, 0.2, 1), mask = masks(), given = wave({2, 2}, 0.9, 1);
  for (const Row& row : std::vector<Row>{{"SimpleRNN", true, false, false, false, false},
                                         {"SimpleRNN", true, true, true, true, true},
                                         {"LSTM", true, false, false, false, true},
                                         {"LSTM", true, false, true, true, false},
                                         {"LSTM", true, true, true, false, false},
                                         {"GRU", true, false, true, false, false},
                                         {"GRU", true, true, false, true, true},
                                         {"GRU", false, false, false, true, false},
                                         {"GRU", false, true, true, false, false}}) {
    INFO(row.kind << ' ' << row.reset_after << row.go_backwards << row.has_mask << row.has_state);
    const L::Recurrent layer = layer_of(row.kind, {.reset_after = row.reset_after,
                                                   .return_sequences = true,
                                                   .go_backwards = row.go_backwards,
                                                   .unroll = row.unroll,
                                                   .dtype = "float64"});
    const bool is_lstm = std::string(row.kind) == "LSTM";
    L::RecurrentCall call;
    if (row.has_mask) call.mask = constant(mask, {.dtype = "bool"});
    const Tensor state = constant(given, {.dtype = "float64"});
    if (row.has_state) call.initial_state.assign(is_lstm ? 2 : 1, state);
    const L::RecurrentOutput y = layer(constant(x, {.dtype = "float64"}), call);
    set_waves({layer});
    const Array outputs = eval(y), last = eval(y.states.back());
    REQUIRE(outputs.dims() == std::vector<std::int64_t>{2, 5, 2});
    REQUIRE(y.states.size() == (is_lstm ? 2 : 1));
    for (std::int64_t b = 0; b < 2; ++b) {
      const double first = static_cast<double>(given.at<float>(b, 0));
      const double second = static_cast<double>(given.at<float>(b, 1));
      const Vector begin = row.has_state ? Vector{first, second} : Vector{0, 0};
      Loop loop{row.kind, 2, row.reset_after, batch_get_value(layer.weights()), begin, begin};
      Vector shown{0, 0};
      for (std::int64_t i = 0; i < 5; ++i) {
        const std::int64_t t = row.go_backwards ? 4 - i : i;
        if (!row.has_mask || mask.at<bool>(b, t)) {
          Vector features;
          for (std::int64_t k = 0; k < 3; ++k) {
            features.push_back(static_cast<double>(x.at<float>(b, t, k)));
          }
          loop.step(features);
          shown = loop.h;
        }
        for (std::int64_t j = 0; j < 2; ++j) {
          CHECK(outputs.at<double>(b, i, j) ==
                Approx(shown[static_cast<std::size_t>(j)]).margin(1e-12));
        }
      }
      for (std::int64_t j = 0; j < 2; ++j) {
        CHECK(last.at<double>(b, j) ==
              Approx((is_lstm ? loop.c : loop.h)[static_cast<std::size_t>(j)]).margin(1e-12));
      }
    }
  }
}

TEST_CASE("layers: recurrent layers with masks are those of Keras") {
  const L::Bidirectional both(L::LSTM(2, {.return_sequences = true}));
  const L::GRU gru(3, {.return_sequences = true});
  const L::GRU before(2, {.reset_after = false, .go_backwards = true});
  const L::SimpleRNN simple(2);
  const L::RecurrentCall masked{.mask = constant(masks(), {.dtype = "bool"})};
  const Tensor y = both(constant(wave({2, 5, 3}, 0.2, 1)), masked);
  const Tensor z = gru(y, masked), last = before(z, masked), state = simple(z, masked);
  set_waves({both, gru, before, simple});
  check_near(eval(y), kKerasLstm);
  check_near(eval(z), kKerasGru);
  check_near(eval(last), kKerasGruBefore);
  check_near(eval(state), kKerasSimpleRnn);
}

TEST_CASE("layers: recurrent layers have Keras' names, shapes and initial values") {
  clear_session();
  const L::LSTM lstm(2);
  const L::GRU gru(2), before(2, {.use_bias = false});
  const auto x = placeholder({.shape = {None, None, 3}});
  const Tensor y = lstm(x), z = gru(x), w = before(x);
  CHECK(int_shape(y) == std::vector<std::optional<std::int64_t>>{std::nullopt, 2});
  CHECK(lstm.weights()[0].name() == "lstm/kernel");
  CHECK(lstm.weights()[1].name() == "lstm/recurrent_kernel");
  CHECK(get_variable_shape(lstm.weights()[1]) == std::vector<std::int64_t>{2, 8});
  CHECK(get_value(lstm.weights()[2]) == Array{0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 0.f, 0.f});
  CHECK(gru.weights()[2].name() == "gru/bias");
  CHECK(get_variable_shape(gru.weights()[2]) == std::vector<std::int64_t>{2, 6});
  CHECK(before.name() == "gru_1");
  CHECK(before.weights().size() == 2);
  const L::LSTM plain(2, {.unit_forget_bias = false});
  const Tensor v = plain(x);
  CHECK(get_value(plain.weights()[2]) == Array::zeros({8}));
  const L::Bidirectional both(lstm, {.name = "both"});
  const Tensor u = both(x);
  CHECK(both.weights()[0].name() == "both/forward_lstm/kernel");
  CHECK(both.weights()[3].name() == "both/backward_lstm/kernel");
  CHECK(int_shape(u)[1] == 4);
}

TEST_CASE("layers: Bidirectional merges both directions, and has the states of both") {
  const auto x = constant(wave({2, 5, 3}, 0.2, 1));
  for (const char* mode : {"concat", "sum", "mul", "ave"}) {
    const L::Bidirectional both(L::LSTM(2), {.merge_mode = mode});
    const L::LSTM forward(2), backward(2, {.go_backwards = true});
    const auto begin = constant(wave({2, 2}, 0.4, 1)), other = constant(wave({2, 2}, 0.7, 1));
    const auto y = both(x, {.initial_state = {begin, other, other, begin}});
    const auto f = forward(x, {.initial_state = {begin, other}});
    const auto b = backward(x, {.initial_state = {other, begin}});
    set_waves({both});
    set_waves({forward, backward});
    const std::string name = mode;
    const Tensor expected = name == "concat" ? concatenate({f, b})
                            : name == "sum"  ? f + b
                            : name == "mul"  ? f * b
                                             : (f + b) / 2;
    CHECK(eval(y) == eval(expected));
    REQUIRE(y.states.size() == 4);
    CHECK(eval(y.states[1]) == eval(f.states[1]));
    CHECK(eval(y.states[2]) == eval(b.states[0]));
  }
}

TEST_CASE("layers: gradients flow through recurrent layers to all variables") {
  const L::Bidirectional both(L::GRU(2, {.return_sequences = true}));
  const L::LSTM lstm(2);
  const L::RecurrentCall masked{.mask = constant(masks(), {.dtype = "bool"})};
  const auto x = constant(wave({2, 5, 3}, 0.2, 1));
  const Tensor loss = sum(square(lstm(both(x, masked), masked)));
  const auto weights = L::trainable_weights({both, lstm});
  REQUIRE(weights.size() == 9);
  for (const Tensor& gradient : gradients(loss, weights)) {
    CHECK(eval(max(abs(gradient))).item<float>() > 0);
  }
}

TEST_CASE("layers: misuse of recurrent layers") {
  using testing::Misuse, testing::throws;
  const L::LSTM lstm(2, {.name = "l"});
  const auto x = ones({1, 4, 3});
  const Tensor built = lstm(x);
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::GRU(0); }, "GRU: units 0 is not positive"},
      {throws<ValueError>(), [] { L::LSTM(INT64_MAX); },
       "LSTM: units 9223372036854775807 is too large"},
      {throws<ValueError>(), [=] { static_cast<void>(lstm(ones({4, 3}))); },
       "LSTM: layer 'l' requires sequences of rank 3, not float32[4,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(lstm(ones({1, 4, 5}))); },
       "LSTM: layer 'l' requires size 3 of axis 2 of sequences, as at its first call, not "
       "float32[1,4,5]"},
      {throws<ValueError>(), [=] { static_cast<void>(lstm(x, {.initial_state = {ones({1, 2})}})); },
       "LSTM: layer 'l' requires 2 states, not 1"},
      {throws<ValueError>(1),
       [=] { static_cast<void>(lstm(x, {.initial_state = {ones({1, 2}), ones({1, 3})}})); },
       "LSTM: layer 'l' requires states of 2 units, not float32[1,3]"},
      {throws<TypeError>(), [=] { static_cast<void>(lstm(ones({1, 4, 3}, {.dtype = "int32"}))); },
       "LSTM: layer 'l' requires sequences of dtype float32, not int32[1,4,3]"},
      {throws<ValueError>(), [=] { L::Bidirectional(lstm, {.merge_mode = "cat"}); },
       "Bidirectional: unknown merge_mode 'cat': expected concat, sum, mul, ave"},
      {throws<ValueError>(1),
       [] { L::Bidirectional(L::LSTM(2, {.go_backwards = true, .name = "r"})); },
       "Bidirectional: layer 'r' goes backwards"}});
}

}  // namespace kiln
