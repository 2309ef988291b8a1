// Tests MultiHeadAttention against plain loops and Keras.
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
const std::vector<float> kKerasAttention{
    0.3959664f,  0.32093295f, 0.09495971f,  0.38806105f, 0.31673262f, 0.09643992f,
    0.39334983f, 0.31935394f, 0.095160924f, 0.39591074f, 0.32090506f, 0.09497274f,
    0.3955561f,  0.31918433f, 0.09269524f,  0.40208167f, 0.3225102f,  0.09125719f,
    0.40456122f, 0.32406944f, 0.09116278f,  0.39553186f, 0.31916916f, 0.09269618f};
const std::vector<float> kKerasCausal{
    0.40364182f, 0.31748092f, 0.082003795f, 0.39040202f, 0.32209378f, 0.1022998f,
    0.41762292f, 0.33119062f, 0.08899415f,  0.4157843f,  0.3267412f,  0.08402655f,
    0.39645106f, 0.32572484f, 0.10180517f,  0.42975515f, 0.33907333f, 0.08892002f,
    0.4204871f,  0.32988566f, 0.08413381f,  0.40900844f, 0.3288582f,  0.0940408f};

Array source_mask() {
  return Array({true, true, false, true, false, false, true, true, false, false}, {2, 5});
}

/// One element of a projection: x[b, t, :] times kernel[:, head, i], plus the bias.
double projected(const Array& x, std::int64_t b, std::int64_t t, const std::vector<Array>& weights,
                 std::size_t at, std::int64_t head, std::int64_t i) {
  double sum = weights[at + 1].at<double>(head, i);
  for (std::int64_t k = 0; k < 3; ++k) {
    sum += static_cast<double>(x.at<float>(b, t, k)) * weights[at].at<double>(k, head, i);
  }
  return sum;
}

}  // namespace

TEST_CASE("layers: MultiHeadAttention is that of Keras") {
  const auto x = constant(wave({2, 4, 3}, 0.2, 1)), y = constant(wave({2, 5, 3}, 0.9, 1));
  const L::MultiHeadAttention attention(2, 3, {.value_dim = 2});
  const Tensor masked = attention(x, y, {.value_mask = constant(source_mask(), {.dtype = "bool"})});
  const Tensor causal = attention(x, x, {.use_causal_mask = true});
  set_waves({attention});
  check_near(eval(masked), kKerasAttention);
  check_near(eval(causal), kKerasCausal);
}

TEST_CASE("layers: MultiHeadAttention is plain loops, with all masks and unknown sizes") {
  const Array x = wave({2, 4, 3}, 0.2, 1), s = wave({2, 5, 3}, 0.9, 1), k = wave({2, 5, 3}, 0.5, 1);
  const Array of_source = source_mask();
  const Array of_query({true, true, true, false, true, false, true, true}, {2, 4});
  const auto query = placeholder({.shape = {None, None, 3}, .dtype = "float64"});
  const auto value = placeholder({.shape = {None, None, 3}, .dtype = "float64"});
  const auto key = placeholder({.shape = {None, None, 3}, .dtype = "float64"});
  const auto query_mask = placeholder({.shape = {None, None}, .dtype = "bool"});
  const auto mask = placeholder({.shape = {None, None}, .dtype = "bool"});
  const L::MultiHeadAttention attention(2, 3, {.value_dim = 2, .dtype = "float64"});
  const auto y = attention(
      query, value,
      {.key = key, .query_mask = query_mask, .value_mask = mask, .use_causal_mask = true});
  set_waves({attention});
  const std::vector<Array> weights = batch_get_value(attention.weights());
  const Function f = function({query, value, key, query_mask, mask}, {y, y.scores});
  const auto results = f({x, s, k, of_query, of_source});
  REQUIRE(results[0].dims() == std::vector<std::int64_t>{2, 4, 3});
  REQUIRE(results[1].dims() == std::vector<std::int64_t>{2, 2, 4, 5});
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t t = 0; t < 4; ++t) {
      std::vector<double> output(3);
      for (std::int64_t o = 0; o < 3; ++o) {
        output[static_cast<std::size_t>(o)] = weights[7].at<double>(o);
      }
      for (std::int64_t head = 0; head < 2; ++head) {
        std::vector<double> scores;
        double sum = 0;
        for (std::int64_t from = 0; from < 5; ++from) {
          double score = 0;
          for (std::int64_t i = 0; i < 3; ++i) {
            score += projected(x, b, t, weights, 0, head, i) *
                     projected(k, b, from, weights, 2, head, i) / std::sqrt(3.);
          }
          const bool is_seen = of_query.at<bool>(b, t) && of_source.at<bool>(b, from) && from <= t;
          scores.push_back(std::exp(is_seen ? score : score - 100));
          sum += scores.back();
        }
        for (std::int64_t from = 0; from < 5; ++from) {
          const double weight = scores[static_cast<std::size_t>(from)] / sum;
          CHECK(results[1].at<double>(b, head, t, from) == Approx(weight).margin(1e-6));
          for (std::int64_t v = 0; v < 2; ++v) {
            const double seen = weight * projected(s, b, from, weights, 4, head, v);
            for (std::int64_t o = 0; o < 3; ++o) {
              output[static_cast<std::size_t>(o)] += seen * weights[6].at<double>(head, v, o);
            }
          }
        }
      }
      for (std::int64_t o = 0; o < 3; ++o) {
        CHECK(results[0].at<double>(b, t, o) ==
              Approx(output[static_cast<std::size_t>(o)]).margin(1e-6));
      }
    }
  }
}

TEST_CASE("layers: MultiHeadAttention has Keras' variables, and drops weights in training") {
  clear_session();
  const auto x = constant(wave({2, 4, 3}, 0.2, 1));
  const L::MultiHeadAttention attention(2, 5, {.value_dim = 4, .dropout = 0.5, .output_shape = 7});
  const auto y = attention(x, x);
  CHECK(int_shape(y) == std::vector<std::optional<std::int64_t>>{2, 4, 7});
  std::vector<std::string> names;
  for (const Tensor& w : attention.weights()) names.push_back(w.name().substr(21));
  CHECK(names == std::vector<std::string>{"query/kernel", "query/bias", "key/kernel", "key/bias",
                                          "value/kernel", "value/bias", "attention_output/kernel",
                                          "attention_output/bias"});
  CHECK(attention.weights()[0].name() == "multi_head_attention/query/kernel");
  CHECK(get_variable_shape(attention.weights()[6]) == std::vector<std::int64_t>{2, 4, 7});
  const Function f = function({learning_phase()}, {y, y.scores});
  CHECK_FALSE(f({true})[0] == f({false})[0]);
  CHECK(f({true})[1] == f({false})[1]);
  const L::MultiHeadAttention plain(2, 5, {.use_bias = false});
  const Tensor z = plain(x, x);
  CHECK(plain.weights().size() == 4);
}

TEST_CASE("layers: attention masks have heads or not, and any dtype") {
  const auto x = constant(wave({2, 4, 3}, 0.2, 1));
  const L::MultiHeadAttention attention(2, 3);
  const auto causal = constant(Array(
      {1.f, 0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 1.f, 1.f, 1.f, 0.f, 1.f, 1.f, 1.f, 1.f}, {1, 4, 4}));
  const Array expected = eval(attention(x, x, {.use_causal_mask = true}));
  CHECK(eval(attention(x, x, {.attention_mask = causal})) == expected);
  CHECK(eval(attention(x, x, {.attention_mask = expand_dims(causal, {.axis = 1})})) == expected);
  CHECK_FALSE(eval(attention(x, x)) == expected);
}

TEST_CASE("layers: misuse of attention") {
  using testing::Misuse, testing::throws;
  const L::MultiHeadAttention attention(2, 3, {.name = "a"});
  const auto x = ones({2, 4, 3});
  const Tensor built = attention(x, x);
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::MultiHeadAttention(0, 1); },
       "MultiHeadAttention: num_heads 0 is not positive"},
      {throws<ValueError>(), [] { L::MultiHeadAttention(1, 1, {.dropout = 1}); },
       "MultiHeadAttention: dropout 1 is outside [0, 1)"},
      {throws<ValueError>(), [=] { static_cast<void>(attention(x, ones({4, 3}))); },
       "MultiHeadAttention: layer 'a' requires value of rank 3, not float32[4,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(attention(ones({2, 4, 5}), x)); },
       "MultiHeadAttention: layer 'a' requires size 3 of axis 2 of query, as at its first call, "
       "not float32[2,4,5]"},
      {throws<ValueError>(), [=] { static_cast<void>(attention(x, x, {.value_mask = ones({4})})); },
       "MultiHeadAttention: layer 'a' requires value_mask of rank 2, not float32[4]"},
      {throws<ValueError>(1),
       [=] { static_cast<void>(attention(x, x, {.attention_mask = ones({4, 4})})); },
       "MultiHeadAttention: layer 'a' requires attention_mask of rank 3, not float32[4,4]"}});
}

}  // namespace kiln
