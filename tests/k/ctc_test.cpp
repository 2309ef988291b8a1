// Group O: CTC. Costs and decodings are compared with sums over all alignments, one by one, and
// with the figures of Keras 2.3.1's own tests.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/k/row.h"
#include "tests/misuse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace kiln::test {
namespace {

using testing::Fault;
using Labels = std::vector<std::int64_t>;

/// Two samples of five steps and six classes, from Keras' test_ctc.
const Array& keras_probabilities() {
  static const Array array =
      f32({2, 5, 6}, {0.633766f,  0.221185f, 0.0917319f, 0.0129757f,  0.0142857f,  0.0260553f,
                      0.111121f,  0.588392f, 0.278779f,  0.0055756f,  0.00569609f, 0.010436f,
                      0.0357786f, 0.633813f, 0.321418f,  0.00249248f, 0.00272882f, 0.0037688f,
                      0.0663296f, 0.643849f, 0.280111f,  0.00283995f, 0.0035545f,  0.00331533f,
                      0.458235f,  0.396634f, 0.123377f,  0.00648837f, 0.00903441f, 0.00623107f,
                      0.30176f,   0.28562f,  0.0831517f, 0.0862751f,  0.0816851f,  0.161508f,
                      0.24082f,   0.397533f, 0.0557226f, 0.0546814f,  0.0557528f,  0.19549f,
                      0.230246f,  0.450868f, 0.0389607f, 0.038309f,   0.0391602f,  0.202456f,
                      0.280884f,  0.429522f, 0.0326593f, 0.0339046f,  0.0326856f,  0.190345f,
                      0.423286f,  0.315517f, 0.0338439f, 0.0393744f,  0.0339315f,  0.154046f});
  return array;
}
const Array& keras_labels() {
  static const Array array = i32({2, 5}, {0, 1, 2, 1, 0, 0, 1, 1, 0, -1});
  return array;
}
/// Two equal steps of the classes (0.6, 0.4): the label 0 and the blank.
const Array& coin() {
  static const Array array = f32({1, 2, 2}, {0.6f, 0.4f, 0.6f, 0.4f});
  return array;
}

Tensor cost(const Tensors& x) { return ctc_batch_cost(x[0], x[1], x[2], x[3]); }
Tensor slope(const Tensors& x) { return gradients(sum(cost(x)), {x[1]})[0]; }

Array column(std::vector<std::int32_t> lengths) {
  const auto samples = static_cast<std::int64_t>(lengths.size());
  return i32({samples, 1}, std::move(lengths));
}

}  // namespace

std::vector<Row> ctc_rows() {
  const Array first = f32({5, 6}, {keras_probabilities().as<float>().begin(),
                                   keras_probabilities().as<float>().begin() + 30});
  const float a = 0.6f, b = 0.4f;
  return {
      {"ctc_batch_cost", {keras_labels(), keras_probabilities(), column({5, 5}), column({5, 4})},
       cost, f32({2, 1}, {3.3421146f, 5.4226232f}), 1e-5},
      // 0 in two steps: "00", "0-", "-0"
      {"ctc_batch_cost one sample", {i32({1, 1}, {0}), coin(), column({2}), column({1})}, cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}), 1e-5},
      {"ctc_batch_cost one step", {i32({1, 1}, {0}), coin(), column({1}), column({1})}, cost,
       f32({1, 1}, {-std::log(a)}), 1e-5},
      {"ctc_batch_cost no label", {i32({1, 1}, {-1}), coin(), column({2}), column({0})}, cost,
       f32({1, 1}, {-2 * std::log(b)}), 1e-5},
      {"ctc_batch_cost no room for labels", {i32({1, 0}, {}), coin(), column({2}), column({0})},
       cost, f32({1, 1}, {-2 * std::log(b)}), 1e-5},
      {"ctc_batch_cost no step", {i32({2, 1}, {0, 0}), f32({2, 2, 2}, std::vector<float>(8, 0.5f)),
                                  column({0, 0}), column({0, 1})},
       cost, f32({2, 1}, {0, kInf})},
      {"ctc_batch_cost no sample", {i32({0, 3}, {}), f32({0, 2, 2}, {}), column({}), column({})},
       cost, f32({0, 1}, {})},
      {"ctc_batch_cost too short", {i32({1, 2}, {0, 0}), coin(), column({2}), column({2})}, cost,
       f32({1, 1}, {kInf})},
      {"ctc_batch_cost slope, too short",
       {i32({1, 2}, {0, 0}), coin(), column({2}), column({2})}, slope,
       f32({1, 2, 2}, {0, 0, 0, 0})},
      {"ctc_batch_cost behind the last step",
       {i32({1, 1}, {0}), f32({1, 3, 2}, {a, b, a, b, kNaN, kInf}), column({2}), column({1})}, cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}), 1e-5},
      {"ctc_batch_cost slope behind the last step",
       {i32({1, 1}, {0}), f32({1, 2, 2}, {a, b, kNaN, kInf}), column({1}), column({1})}, slope,
       f32({1, 2, 2}, {1 - 1 / a, 1, 0, 0}), 1e-5},
      {"ctc_batch_cost probabilities that are not divided by their sum",
       {i32({1, 1}, {0}), f32({1, 1, 2}, {3, 1}), column({1}), column({1})}, cost,
       f32({1, 1}, {-std::log(0.75f)}), 1e-5},
      {"ctc_batch_cost float labels, lengths without axis",
       {f32({1, 1}, {0}), coin(), i64({1}, {2}), i64({1}, {1})}, cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}), 1e-5},

      {"ctc_interleave_blanks", {i32({3}, {4, 0, 2})},
       [](const Tensors& x) { return ctc_interleave_blanks(x[0]); },
       i32({7}, {-1, 4, -1, 0, -1, 2, -1})},
      {"ctc_interleave_blanks nothing", {i64({0}, {})},
       [](const Tensors& x) { return ctc_interleave_blanks(x[0]); }, i64({1}, {-1})},
      {"ctc_create_skip_idxs used", {i32({9}, {-1, 4, -1, 4, -1, 2, -1, 3, -1})},
       [](const Tensors& x) {
         return sum(ctc_create_skip_idxs(x[0]) * 2 + cast(sum(x[0]), "int64"));
       }, Array(std::int64_t{32})},
      {"ctc_label_dense_to_sparse", {i32({2, 2}, {1, 2, 3, 4}), i64({2}, {1, 2})},
       [](const Tensors& x) { return to_dense(ctc_label_dense_to_sparse(x[0], x[1])); },
       i32({2, 2}, {1, 0, 3, 4})},
      // from the first state to the second; then the skip at 1 lets state 3 be reached
      {"ctc_update_log_p active", {i64({1}, {1}), f32({5}, {0, 0, 0, 0, 0}), i32({}, {2})},
       [](const Tensors& x) {
         return ctc_update_log_p(x[0], x[1], x[2], x[1], x[1]).active_next;
       }, i32({}, {4})},
      {"ctc_update_log_p", {i64({1}, {1}), f32({5}, {9, 9, 9, 9, 9}), i32({}, {2}),
                            f32({5}, {1, 2, 3, 4, 5})},
       [](const Tensors& x) {
         return ctc_update_log_p(x[0], x[1], x[2], x[3], zeros_like(x[3])).log_p_next;
       }, f32({5}, {1, 2 + std::log(2.f), 3, 4, 9}), 1e-5},
      {"ctc_path_probs mask", {first, i32({3}, {-1, 0, -1})},
       [](const Tensors& x) {
         return cast(ctc_path_probs(slice(x[0], {0, 0}, {2, 6}), x[1]).mask, "int32");
       }, i32({2, 3}, {1, 1, 0, 0, 1, 1})},
      // the figures of Keras' Theano backend
      {"ctc_cost", {first, i32({5}, {0, 1, 2, 1, 0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); }, Array(1.73308f), 1e-4},
      {"ctc_cost second", {f32({5, 6}, {keras_probabilities().as<float>().begin() + 30,
                                        keras_probabilities().as<float>().end()}),
                           i32({4}, {0, 1, 1, 0})},
       [](const Tensors& x) { return ctc_cost(x[0], x[1]); }, Array(3.81351f), 1e-4},
  };
}

namespace {

const SmoothRow kSmooth[] = {
    {"ctc_batch_cost", {{2, 4, 3}},
     [](const Tensors& x) {
       return ctc_batch_cost(constant(i32({2, 2}, {0, 1, 1, -1}), {.dtype = "int32"}), x[0],
                             constant(column({4, 3}), {.dtype = "int32"}),
                             constant(column({2, 1}), {.dtype = "int32"}));
     }, 0.2, 1},
    {"ctc_batch_cost repeated label", {{1, 4, 2}},
     [](const Tensors& x) {
       return ctc_batch_cost(constant(i32({1, 2}, {0, 0}), {.dtype = "int32"}), x[0],
                             constant(column({4}), {.dtype = "int32"}),
                             constant(column({2}), {.dtype = "int32"}));
     }, 0.2, 1},
    {"ctc_cost", {{4, 3}},
     [](const Tensors& x) {
       return ctc_cost(x[0], constant(i32({2}, {0, 1}), {.dtype = "int32"}));
     }, 0.2, 1},
};

/// What an alignment says: equal neighbours merged, blanks dropped.
Labels said(const Labels& alignment, std::int64_t blank) {
  Labels labels;
  std::int64_t previous = blank;
  for (const std::int64_t label : alignment) {
    if (label != previous && label != blank) labels.push_back(label);
    previous = label;
  }
  return labels;
}

/// The probability of each sequence of labels, by all alignments. Scores are raised by epsilon().
std::map<Labels, double> by_alignments(std::span<const float> scores, int steps, int classes) {
  std::map<Labels, double> found;
  Labels alignment(static_cast<std::size_t>(steps), 0);
  for (;;) {
    double product = 1;
    for (int t = 0; t < steps; ++t) {
      double sum = 0;
      const auto row = scores.subspan(static_cast<std::size_t>(t * classes),
                                      static_cast<std::size_t>(classes));
      for (const float score : row) sum += score + epsilon();
      const auto label = static_cast<std::size_t>(alignment[static_cast<std::size_t>(t)]);
      product *= (row[label] + epsilon()) / sum;
    }
    found[said(alignment, classes - 1)] += product;
    std::size_t t = 0;
    while (t < alignment.size() && ++alignment[t] == classes) alignment[t++] = 0;
    if (t == alignment.size()) return found;
  }
}

Array random_scores(std::vector<std::int64_t> dims, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(0.05f, 1.0f);
  Array array = Array::zeros(std::move(dims));
  for (float& element : array.as<float>()) element = draw(engine);
  return array;
}

struct Found {
  std::vector<Array> decoded;
  Array log_prob;
};

Found decode(const Array& scores, const std::vector<std::int64_t>& lengths,
             const CtcDecodeOptions& options) {
  const Tensor y = placeholder({.ndim = 3}), n = placeholder({.ndim = 1, .dtype = "int64"});
  const CtcDecoded result = ctc_decode(y, n, options);
  Tensors outputs = result.decoded;
  outputs.push_back(result.log_prob);
  const Function f = function({y, n}, outputs, {.backend = tested_backend()});
  std::vector<Array> values = f({scores, Array(lengths)});
  const Array log_prob = values.back();
  values.pop_back();
  return {values, log_prob};
}

/// Rows of six classes, from Keras' beam search test; the last is behind the end.
const Array& keras_beam_scores() {
  static const Array array =
      f32({1, 6, 6}, {0.30999f,  0.309938f, 0.0679938f, 0.0673362f, 0.0708352f, 0.173908f,
                      0.215136f, 0.439699f, 0.0370931f, 0.0393967f, 0.0381581f, 0.230517f,
                      0.199959f, 0.489485f, 0.0233221f, 0.0251417f, 0.0233289f, 0.238763f,
                      0.279611f, 0.452966f, 0.0204795f, 0.0209126f, 0.0194803f, 0.20655f,
                      0.51286f,  0.288951f, 0.0243026f, 0.0220788f, 0.0219297f, 0.129878f,
                      0.155251f, 0.164444f, 0.173517f,  0.176138f,  0.169979f,  0.160671f});
  return array;
}

}  // namespace

TEST_CASE("CTC costs and helpers", "[k]") { run(ctc_rows()); }

TEST_CASE("gradients of CTC costs", "[k]") {
  for (const SmoothRow& row : kSmooth) run(row);
}

TEST_CASE("ctc_batch_cost is the sum over all alignments", "[k]") {
  const int steps = 5, classes = 3;
  for (const Labels& labels : {Labels{0}, {1, 0}, {0, 0}, {0, 1, 1}, {1, 1, 1}, {0, 1, 0, 1}}) {
    const Array scores = random_scores({1, steps, classes}, static_cast<unsigned>(labels.size()));
    const auto count = static_cast<std::int64_t>(labels.size());
    const Tensor y = placeholder({.shape = {None, None, 3}});
    const Tensor found = ctc_batch_cost(constant(Array(labels, {1, count}), {.dtype = "int64"}), y,
                                        constant(column({steps}), {.dtype = "int32"}),
                                        constant(Array(Labels{count}), {.dtype = "int64"}));
    const Array value = function({y}, {found}, {.backend = tested_backend()})({scores})[0];
    const double expected = -std::log(by_alignments(scores.as<float>(), steps, classes)[labels]);
    CHECK(difference(value, f32({1, 1}, {static_cast<float>(expected)}), 1e-5) == "");
  }
}

TEST_CASE("greedy decoding takes the best class of each step", "[k]") {
  // From Keras' test_ctc_decode_greedy.
  const Array scores =
      f32({2, 6, 4}, {1, 0, 0, 0, 0, 0, .4f, .6f, 0, 0, .4f, .6f, 0, .9f, .1f, 0, 0, 0, 0, 0, 0, 0,
                      0, 0, .1f, .9f, 0, 0, 0, .9f, .1f, 0, 0, 0, .1f, .9f, 0, .9f, .1f, .1f,
                      .9f, .1f, 0, 0, 0, 0, 0, 0});
  const Found found = decode(scores, {4, 5}, {});
  REQUIRE(found.decoded.size() == 1);
  CHECK(found.decoded[0] == i64({2, 3}, {0, 1, -1, 1, 1, 0}));
  const float first = -std::log(0.6f) * 2 - std::log(0.9f), second = -5 * std::log(0.9f);
  CHECK(difference(found.log_prob, f32({2, 1}, {first, second}), 1e-5) == "");
  CHECK(decode(scores, {0, 0}, {}).decoded[0] == i64({2, 0}, {}));
  CHECK(decode(f32({0, 2, 3}, {}), {}, {}).decoded[0] == i64({0, 0}, {}));
}

TEST_CASE("greedy decoding takes the first of equal classes", "[k]") {
  CHECK(decode(f32({1, 1, 3}, {.4f, .4f, .2f}), {1}, {}).decoded[0] == i64({1, 1}, {0}));
}

TEST_CASE("beam search finds what Keras finds", "[k]") {
  Array scores = keras_beam_scores();
  for (float& element : scores.as<float>()) element = std::exp(element);  // as that test does
  const Found found =
      decode(scores, {5}, {.greedy = false, .beam_width = 2, .top_paths = 2});
  REQUIRE(found.decoded.size() == 2);
  CHECK(found.decoded[0] == i64({1, 2}, {1, 0}));
  CHECK(found.decoded[1] == i64({1, 1}, {1}));
  CHECK(difference(found.log_prob, f32({1, 2}, {-5.811451f, -6.63339f}), 1e-4) == "");
}

TEST_CASE("a wide beam finds the most probable of all label sequences", "[k]") {
  const int steps = 5, classes = 3;
  const Array scores = random_scores({2, steps, classes}, 7);
  const Found found =
      decode(scores, {steps, steps}, {.greedy = false, .beam_width = 400, .top_paths = 4});
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    std::vector<std::pair<double, Labels>> expected;
    const auto own = scores.as<float>().subspan(static_cast<std::size_t>(sample) * 15, 15);
    for (const auto& [labels, p] : by_alignments(own, steps, classes)) {
      expected.emplace_back(p, labels);
    }
    std::sort(expected.rbegin(), expected.rend());
    for (std::int64_t path = 0; path < 4; ++path) {
      const auto& [p, labels] = expected[static_cast<std::size_t>(path)];
      const Array& all = found.decoded[static_cast<std::size_t>(path)];
      Labels read;
      for (std::int64_t i = 0; i < all.dims()[1] && all.at<std::int64_t>(sample, i) >= 0; ++i) {
        read.push_back(all.at<std::int64_t>(sample, i));
      }
      CHECK(read == labels);
      CHECK(std::abs(found.log_prob.at<float>(sample, path) - std::log(p)) < 1e-4);
    }
  }
}

TEST_CASE("repeated labels of a beam search are merged when wanted", "[k]") {
  // A, blank, A, B, blank, B
  const Array scores = f32({1, 6, 3}, {.8f, .1f, .1f, .1f, .1f, .8f, .8f, .1f, .1f,
                                       .1f, .8f, .1f, .1f, .1f, .8f, .1f, .8f, .1f});
  CHECK(decode(scores, {6}, {.greedy = false}).decoded[0] == i64({1, 4}, {0, 0, 1, 1}));
  CHECK(decode(scores, {6}, {.greedy = false, .merge_repeated = true}).decoded[0] ==
        i64({1, 2}, {0, 1}));
}

TEST_CASE("paths that are not there are empty and impossible", "[k]") {
  const Found found =
      decode(coin(), {0}, {.greedy = false, .beam_width = 3, .top_paths = 2});
  CHECK(found.decoded[1] == i64({1, 0}, {}));
  CHECK(found.log_prob == f32({1, 2}, {0, -kInf}));
}

TEST_CASE("what is decoded can be computed with, beside updates and draws", "[k]") {
  const Tensor y = placeholder({.shape = {None, None, 3}}), w = variable(2.0);
  const Tensor logits = softmax(y * w);
  const Tensor n = placeholder({.ndim = 1, .dtype = "int64"});
  const Tensor labels = ctc_decode(logits, n).decoded[0];
  const Tensor again = ctc_decode(one_hot(maximum(labels, 0), 3), n - n + 1).decoded[0];
  const Tensor noise = random_uniform({2});
  const Function f = function({y, n}, {labels + 1, again, logits, noise, noise},
                              {.updates = {update_add(w, sum(cast(labels, "float32")))},
                               .backend = tested_backend()});
  const Array scores = f32({1, 3, 3}, {.1f, .8f, .1f, .1f, .1f, .8f, .1f, .8f, .1f});
  const std::vector<Array> values = f({scores, i64({1}, {3})});
  CHECK(values[0] == i64({1, 2}, {2, 2}));
  CHECK(values[1] == i64({1, 1}, {1}));
  CHECK(values[3] == values[4]);
  CHECK(get_value(w).item<float>() == 4);
  CHECK(f.stats().compiles == 3);
  std::vector<Array> places{i64({1, 2}, {0, 0}), i64({1, 1}, {0}), Array::zeros({1, 3, 3}),
                            Array::zeros({2}), Array::zeros({2})};
  std::vector<MutableArrayView> views;
  for (Array& place : places) views.push_back({place.dtype(), place.data(), place.dims()});
  const Array length = i64({1}, {3});
  f.call_into(std::vector<ArrayView>{scores.as_view(), length.as_view()}, views);
  CHECK(places[0] == values[0]);
}

TEST_CASE("misuse of CTC", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype) {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const Tensor y = of({2, 5, 4}, "float32"), labels = of({2, 3}, "int32"), n = of({2, 1}, "int32");
  const Tensor flat = of({2}, "int32"), vector = of({7}, "float32");
  testing::run({
      {__LINE__, Fault::Type, [&] { ctc_batch_cost(n, labels, n, n); },
       "ctc_batch_cost: y_pred is not floating point (y_pred int32[2,3])"},
      {__LINE__, Fault::Value, [&] { ctc_batch_cost(flat, y, n, n); },
       "ctc_batch_cost: ranks are not 2 and 3 (y_true int32[2], y_pred float32[2,5,4])"},
      {__LINE__, Fault::Value, [&] { ctc_batch_cost(of({3, 3}, "int32"), y, n, n); },
       "ctc_batch_cost: batch sizes differ (y_true int32[3,3], y_pred float32[2,5,4])"},
      {__LINE__, Fault::Value, [&] { ctc_batch_cost(labels, y, labels, n); },
       "ctc_batch_cost: input_length is not (samples, 1) (input_length int32[2,3])"},
      {__LINE__, Fault::Type, [&] { ctc_batch_cost(labels, y, n, of({2}, "float32")); },
       "ctc_batch_cost: label_length is not integer (label_length float32[2])"},
      {__LINE__, Fault::Value, [&] { ctc_batch_cost(labels, y, of({3}, "int32"), n); },
       "ctc_batch_cost: input_length is not for 2 samples, as y_pred is (input_length int32[3])"},
      {__LINE__, Fault::Value, [&] { ctc_decode(y, n); },
       "ctc_decode: input_length has rank 2, not 1 (input_length int32[2,1])"},
      {__LINE__, Fault::Value, [&] { ctc_decode(of({2, 5}, "float32"), flat); },
       "ctc_decode: y_pred has no three axes (y_pred float32[2,5], input_length int32[2])"},
      {__LINE__, Fault::Type, [&] { ctc_decode(of({2, 5, 4}, "int32"), flat); },
       "ctc_decode: y_pred is not floating point (y_pred int32[2,5,4])"},
      {__LINE__, Fault::Value, [&] { ctc_decode(y, of({3}, "int32")); },
       "ctc_decode: batch sizes differ (y_pred float32[2,5,4], input_length int32[3])"},
      {__LINE__ + 1, Fault::Value,
       [&] { ctc_decode(y, flat, {.greedy = false, .beam_width = 0}); },
       "ctc_decode: beam_width is 0"},
      {__LINE__ + 1, Fault::Value,
       [&] { ctc_decode(y, flat, {.greedy = false, .top_paths = 0}); },
       "ctc_decode: top_paths is 0"},
      {__LINE__ + 1, Fault::Value,
       [&] { ctc_decode(y, flat, {.greedy = false, .beam_width = 2, .top_paths = 3}); },
       "ctc_decode: top_paths 3 exceeds beam_width 2"},
      {__LINE__, Fault::Type, [&] { ctc_interleave_blanks(vector); },
       "ctc_interleave_blanks: Y is not integer (Y float32[7])"},
      {__LINE__, Fault::Type, [&] { ctc_interleave_blanks(of({3}, "uint8")); },
       "ctc_interleave_blanks: Y is unsigned and cannot hold -1 (Y uint8[3])"},
      {__LINE__, Fault::Value, [&] { ctc_create_skip_idxs(labels); },
       "ctc_create_skip_idxs: Y has rank 2, not 1 (Y int32[2,3])"},
      {__LINE__ + 1, Fault::Value,
       [&] { ctc_update_log_p(flat, labels, of({}, "int32"), vector, vector); },
       "ctc_update_log_p: log_p_curr, log_p_prev and zeros are not vectors of floating point "
       "(log_p_curr float32[7], log_p_prev float32[7], zeros int32[2,3])"},
      {__LINE__, Fault::Value, [&] { ctc_path_probs(y, flat); },
       "ctc_path_probs: predict has rank 3, not 2 (predict float32[2,5,4])"},
      {__LINE__, Fault::Value, [&] { ctc_cost(vector, flat); },
       "ctc_cost: predict has rank 1, not 2 (predict float32[7])"},
  }, __FILE__);
}

TEST_CASE("labels and lengths that do not fit are errors of the call", "[k]") {
  const Tensor t = placeholder({.shape = {1, 2}, .dtype = "int32", .name = "labels"});
  const Tensor y = placeholder({.shape = {1, 3, 3}, .name = "y"});
  const Tensor n = placeholder({.shape = {1, 1}, .dtype = "int32", .name = "n"});
  const Tensor m = placeholder({.shape = {1, 1}, .dtype = "int32", .name = "m"});
  const Function f = function({t, y, n, m}, {ctc_batch_cost(t, y, n, m)},
                              {.backend = tested_backend()});
  const Array good = Array::full({1, 3, 3}, 0.3), labels = i32({1, 2}, {0, 1});
  const auto message = [&](const Array& labels, int steps, int count) {
    const std::string all = testing::error_text<Error>(
        [&] { f({labels, good, column({steps}), column({count})}); });
    return all.substr(0, all.find(" (op gather at "));
  };
  CHECK(message(i32({1, 2}, {0, 2}), 3, 2) == "function: index 2 is outside of an axis of size 2");
  CHECK(message(i32({1, 2}, {0, -1}), 3, 2) ==
        "function: index -1 is outside of an axis of size 2");
  CHECK(message(labels, 4, 2) == "function: index 4 is outside of an axis of size 4");
  CHECK(message(labels, 3, 3) == "function: index 3 is outside of an axis of size 3");
  CHECK(message(labels, 3, 2) == "no error");
  const Tensor lengths = placeholder({.shape = {1}, .dtype = "int64"});
  const Function g = function({y, lengths}, {ctc_decode(y, lengths).log_prob},
                              {.backend = tested_backend()});
  CHECK(testing::error_text<Error>([&] { g({good, i64({1}, {4})}); }) ==
        "ctc_decode: input_length[0] is 4 but y_pred has 3 steps");
  CHECK(testing::error_text<Error>([&] { g({good, i64({1}, {-1})}); }) ==
        "ctc_decode: input_length[0] is -1 but y_pred has 3 steps");
}

TEST_CASE("blanks that may be skipped", "[k]") {
  const Tensor y = placeholder({.ndim = 1, .dtype = "int32"});
  const Function f = function({y}, {ctc_create_skip_idxs(y)}, {.backend = tested_backend()});
  CHECK(f({i32({9}, {-1, 4, -1, 4, -1, 2, -1, 3, -1})})[0] == i64({2}, {3, 5}));
  CHECK(f({i32({3}, {-1, 4, -1})})[0] == i64({0}, {}));
  CHECK(f({i32({5}, {-1, 4, -1, 2, -1})})[0] == i64({1}, {1}));
}

TEST_CASE("a loop cannot hold a size of its own", "[k]") {
  const Tensor x = placeholder({.shape = {4, 5}, .dtype = "int32", .name = "x"});
  const Tensor counts = map_fn(
      [](const Tensor& row) { return sum(ctc_create_skip_idxs(row)); }, x, {.dtype = "int64"});
  const std::string message = testing::error_text<Error>([&] { function({x}, {counts}); });
  CHECK(message.substr(0, message.find(" (made at ")) ==
        "function: the result of ctc_create_skip_idxs has a size of its own, which a loop or a "
        "branch cannot hold");
}

}  // namespace kiln::test
