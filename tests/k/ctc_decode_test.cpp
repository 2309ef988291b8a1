// Tests ctc_decode. Beams are compared with the most probable label sequences, with a plain beam
// search written here, and with the figures of Keras' own tests.
#include "tests/support/catch.h"
#include "tests/support/deep.h"
#include "tests/k/ctc.h"

#include <algorithm>

namespace kiln::test {
namespace {

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

/// Rows of six classes, from Keras' beam search test; the last row is beyond the length.
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

/// The labels of a sample, without padding.
Labels labels_of(const Array& decoded, std::int64_t sample) {
  Labels labels;
  for (std::int64_t i = 0; i < decoded.dims()[1]; ++i) {
    const std::int64_t label = decoded.at<std::int64_t>(sample, i);
    if (label < 0) break;
    labels.push_back(label);
  }
  return labels;
}

struct Ends {
  double blank = 0, label = 0;
  double sum() const { return blank + label; }
};
using Beam = std::vector<std::pair<Labels, Ends>>;

/// The `width` best prefixes after those steps, by a beam search over a map, the best first.
Beam searched(std::span<const float> scores, std::int64_t steps, std::size_t classes,
              std::size_t width) {
  Beam beam{{{}, {1, 0}}};
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<double> p =
        normalised(scores.subspan(static_cast<std::size_t>(t) * classes, classes));
    std::map<Labels, Ends> next;
    for (const auto& [prefix, ends] : beam) {
      Ends& same = next[prefix];
      same.blank += ends.sum() * p.back();
      if (!prefix.empty()) same.label += ends.label * p[static_cast<std::size_t>(prefix.back())];
      for (std::size_t label = 0; label + 1 < classes; ++label) {
        Labels longer = prefix;
        longer.push_back(static_cast<std::int64_t>(label));
        const bool repeats = !prefix.empty() && prefix.back() == longer.back();
        next[longer].label += (repeats ? ends.blank : ends.sum()) * p[label];
      }
    }
    beam.assign(next.begin(), next.end());
    std::stable_sort(beam.begin(), beam.end(),
                     [](const auto& a, const auto& b) { return a.second.sum() > b.second.sum(); });
    if (beam.size() > width) beam.resize(width);
  }
  return beam;
}

}  // namespace

TEST_CASE("greedy decoding: the best class of each step", "[k]") {
  // From Keras' test_ctc_decode_greedy.
  const Array scores =
      f32({2, 6, 4}, {1, 0, 0,   0,   0, 0,   .4f, .6f, 0,   0,   .4f, .6f, 0, .9f, .1f, 0,
                      0, 0, 0,   0,   0, 0,   0,   0,   .1f, .9f, 0,   0,   0, .9f, .1f, 0,
                      0, 0, .1f, .9f, 0, .9f, .1f, .1f, .9f, .1f, 0,   0,   0, 0,   0,   0});
  const Found found = decode(scores, {4, 5}, {});
  REQUIRE(found.decoded.size() == 1);
  CHECK(found.decoded[0] == i64({2, 3}, {0, 1, -1, 1, 1, 0}));
  const float first = -std::log(0.6f) * 2 - std::log(0.9f), second = -5 * std::log(0.9f);
  CHECK(difference(found.log_prob, f32({2, 1}, {first, second}), 1e-5) == "");
  CHECK(decode(scores, {0, 0}, {}).decoded[0] == i64({2, 0}, {}));
  CHECK(decode(scores, {0, 0}, {}).log_prob == Array::zeros({2, 1}));
  CHECK(decode(scores, {0, 1}, {}).decoded[0] == i64({2, 1}, {-1, 1}));
  CHECK(decode(f32({0, 2, 3}, {}), {}, {}).decoded[0] == i64({0, 0}, {}));
}

TEST_CASE("greedy decoding: the first of equal classes", "[k]") {
  CHECK(decode(f32({1, 1, 3}, {.4f, .4f, .2f}), {1}, {}).decoded[0] == i64({1, 1}, {0}));
}

TEST_CASE("beam search: the values of Keras' own test", "[k]") {
  Array scores = keras_beam_scores();
  for (float& element : scores.as<float>()) element = std::exp(element);  // as that test does
  const Found found = decode(scores, {5}, {.greedy = false, .beam_width = 2, .top_paths = 2});
  REQUIRE(found.decoded.size() == 2);
  CHECK(found.decoded[0] == i64({1, 2}, {1, 0}));
  CHECK(found.decoded[1] == i64({1, 1}, {1}));
  CHECK(difference(found.log_prob, f32({1, 2}, {-5.811451f, -6.63339f}), 1e-4) == "");
}

TEST_CASE("beam search: a wide beam finds the most probable of all label sequences", "[k]") {
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
      CHECK(labels_of(all, sample) == labels);
      CHECK(std::abs(found.log_prob.at<float>(sample, path) - std::log(p)) < 1e-4);
    }
  }
}

TEST_CASE("beam search: merge_repeated merges repeated labels", "[k]") {
  // A, blank, A, B, blank, B
  const Array scores = f32({1, 6, 3}, {.8f, .1f, .1f, .1f, .1f, .8f, .8f, .1f, .1f, .1f, .8f, .1f,
                                       .1f, .1f, .8f, .1f, .8f, .1f});
  CHECK(decode(scores, {6}, {.greedy = false}).decoded[0] == i64({1, 4}, {0, 0, 1, 1}));
  CHECK(decode(scores, {6}, {.greedy = false, .merge_repeated = true}).decoded[0] ==
        i64({1, 2}, {0, 1}));
}

TEST_CASE("beam search: missing paths are empty, with probability zero", "[k]") {
  const Found found = decode(coin(), {0}, {.greedy = false, .beam_width = 3, .top_paths = 2});
  CHECK(found.decoded[1] == i64({1, 0}, {}));
  CHECK(found.log_prob == f32({1, 2}, {0, -kInf}));
}

TEST_CASE("decoded paths: operands of other functions, with updates and draws", "[k]") {
  const Tensor y = placeholder({.shape = {None, None, 3}}), w = variable(2.0);
  const Tensor logits = softmax(y * w);
  const Tensor n = placeholder({.ndim = 1, .dtype = "int64"});
  const Tensor labels = ctc_decode(logits, n).decoded[0];
  const Tensor again = ctc_decode(one_hot(maximum(labels, 0), 3), n - n + 1).decoded[0];
  const Tensor noise = random_uniform({2});
  const Function f = function(
      {y, n}, {labels + 1, again, logits, noise, noise},
      {.updates = {update_add(w, sum(cast(labels, "float32")))}, .backend = tested_backend()});
  const Array scores = f32({1, 3, 3}, {.1f, .8f, .1f, .1f, .1f, .8f, .1f, .8f, .1f});
  const std::vector<Array> values = f({scores, i64({1}, {3})});
  CHECK(values[0] == i64({1, 2}, {2, 2}));
  CHECK(values[1] == i64({1, 1}, {1}));
  CHECK(values[3] == values[4]);
  CHECK(get_value(w).item<float>() == 4);
  CHECK(f.stats().compiles == 3);
  std::vector<Array> outputs{i64({1, 2}, {0, 0}), i64({1, 1}, {0}), Array::zeros({1, 3, 3}),
                             Array::zeros({2}), Array::zeros({2})};
  std::vector<MutableArrayView> views;
  for (Array& output : outputs) views.push_back({output.dtype(), output.data(), output.dims()});
  const Array length = i64({1}, {3});
  f.call_into(std::vector<ArrayView>{scores.as_view(), length.as_view()}, views);
  CHECK(outputs[0] == values[0]);
}

TEST_CASE("beam search: any width gives the beam of a search over a map", "[k]") {
  for (const std::size_t width : {1u, 2u, 3u, 5u, 12u}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      INFO("width " << width << ", seed " << seed);
      const Array scores = random_scores({2, 7, 4}, seed);
      const std::vector<std::int64_t> lengths{7, 4};
      const auto paths = static_cast<std::int64_t>(std::min<std::size_t>(width, 3));
      const Found found = decode(
          scores, lengths,
          {.greedy = false, .beam_width = static_cast<std::int64_t>(width), .top_paths = paths});
      REQUIRE(found.decoded.size() == static_cast<std::size_t>(paths));
      for (std::int64_t sample = 0; sample < 2; ++sample) {
        const auto at = static_cast<std::size_t>(sample);
        const Beam expected =
            searched(scores.as<float>().subspan(at * 28, 28), lengths[at], 4, width);
        for (std::int64_t path = 0; path < paths; ++path) {
          const auto& [labels, ends] = expected[static_cast<std::size_t>(path)];
          CHECK(labels_of(found.decoded[static_cast<std::size_t>(path)], sample) == labels);
          CHECK(found.log_prob.at<float>(sample, path) ==
                Approx(std::log(ends.sum())).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("decoded paths: as wide as the longest sequence of the call", "[k]") {
  const Tensor y = placeholder({.ndim = 3}), n = placeholder({.ndim = 1, .dtype = "int32"});
  const CtcDecoded beam = ctc_decode(y, n, {.greedy = false, .beam_width = 8, .top_paths = 2});
  const CtcDecoded greedy = ctc_decode(y, n);
  CHECK(int_shape(beam.decoded[0]) == std::vector<std::optional<std::int64_t>>{{}, {}});
  CHECK(int_shape(greedy.log_prob) == std::vector<std::optional<std::int64_t>>{{}, 1});
  CHECK(int_shape(beam.log_prob) == std::vector<std::optional<std::int64_t>>{{}, 2});
  const Function f = function({y, n},
                              {beam.decoded[0], beam.decoded[1], greedy.decoded[0],
                               shape(beam.decoded[0]), beam.decoded[0] * 2},
                              {.backend = tested_backend()});
  const float a = 0.9f, b = 0.08f, c = 0.02f;
  // two labels in the first path, one in the second
  const std::vector<Array> two = f({f32({1, 2, 3}, {a, c, b, c, a, b}), Array{2}});
  CHECK(two[0] == i64({1, 2}, {0, 1}));
  CHECK(two[1].dims()[1] == 1);
  CHECK(two[2] == i64({1, 2}, {0, 1}));
  CHECK(two[3] == i64({2}, {1, 2}));
  CHECK(two[4] == i64({1, 2}, {0, 2}));
  const std::vector<Array> one = f({f32({2, 1, 3}, {a, c, b, c, b, a}), Array{1, 1}});
  CHECK(one[0] == i64({2, 1}, {0, -1}));
  CHECK(one[1] == i64({2, 1}, {-1, 1}));
  CHECK(one[3] == i64({2}, {2, 1}));
  const std::vector<Array> none = f({f32({0, 1, 3}, {}), Array::zeros({0}, DType::Int32)});
  CHECK(none[0] == i64({0, 0}, {}));
  CHECK(none[2] == i64({0, 0}, {}));
}

TEST_CASE("ctc_decode: every float dtype, and every integer dtype of lengths", "[k]") {
  const Array scores = random_scores({2, 5, 3}, 9);
  const Found expected = decode(scores, {5, 3}, {.greedy = false, .beam_width = 9});
  for (const char* dtype : {"float64", "float32", "float16", "bfloat16"}) {
    for (const char* lengths : {"int64", "int32", "uint8"}) {
      INFO(dtype << ", lengths " << lengths);
      const Tensor y = placeholder({.ndim = 3, .dtype = dtype});
      const Tensor n = placeholder({.ndim = 1, .dtype = lengths});
      const CtcDecoded beam = ctc_decode(y, n, {.greedy = false, .beam_width = 9});
      const CtcDecoded greedy = ctc_decode(y, n);
      const std::vector<Array> found =
          evaluate({y, n}, {beam.decoded[0], beam.log_prob, greedy.decoded[0], greedy.log_prob},
                   {scores, Array{5, 3}.astype(*dtype_of_name(lengths))});
      CHECK(found[0] == expected.decoded[0]);
      CHECK(dtype_name(found[1].dtype()) == dtype);
      CHECK(dtype_name(found[3].dtype()) == dtype);
      CHECK(difference(found[1].astype(DType::Float32), expected.log_prob, 0.02) == "");
      CHECK(found[2].dtype() == DType::Int64);
    }
  }
}

TEST_CASE("ctc_decode: one class (the blank), NaN and infinite scores", "[k]") {
  const Found blank = decode(f32({1, 3, 1}, {1, 1, 1}), {3}, {});
  CHECK(blank.decoded[0] == i64({1, 0}, {}));
  const Found beam = decode(f32({1, 3, 1}, {1, 1, 1}), {3}, {.greedy = false});
  CHECK(beam.decoded[0] == i64({1, 0}, {}));
  CHECK(beam.log_prob == f32({1, 1}, {0}));
  const Array bad = f32({1, 2, 2}, {kNaN, kNaN, kNaN, kInf});
  CHECK(decode(bad, {2}, {.greedy = false, .beam_width = 3, .top_paths = 2}).decoded.size() == 2);
  CHECK(decode(bad, {2}, {}).decoded.size() == 1);
  const Found never = decode(Array::zeros({1, 2, 2}), {2}, {.greedy = false, .beam_width = 3});
  CHECK(never.log_prob.item<float>() == Approx(std::log(0.75)).epsilon(1e-5));  // all are epsilon()
}

TEST_CASE("ctc_decode: top_paths is at most the number of label sequences", "[k]") {
  for (const int steps : {0, 1, 2, 3, 4}) {
    for (const int classes : {1, 2, 3}) {
      INFO(steps << " steps, " << classes << " classes");
      const std::vector<float> even(static_cast<std::size_t>(steps * classes), 0.5f);
      const std::size_t count = steps == 0 ? 1 : by_alignments(even, steps, classes).size();
      const Tensor y = placeholder({.shape = {1, steps, classes}});
      const Tensor n = constant({steps}, {.dtype = "int32"});
      const auto paths = [&](std::size_t top) {
        return ctc_decode(
            y, n,
            {.greedy = false, .beam_width = 1000, .top_paths = static_cast<std::int64_t>(top)});
      };
      const Array logs = function({y}, {paths(count).log_prob}, {.backend = tested_backend()})(
          {Array::full({1, steps, classes}, 0.5)})[0];
      for (const float log : logs.as<float>()) CHECK(std::isfinite(log));
      CHECK_THROWS_AS(paths(count + 1), ValueError);
    }
  }
}

TEST_CASE("ctc_decode: time is linear in the number of paths", "[k]") {
  check_linear(8000, [](std::size_t length, Laps& laps) {
    const auto paths = static_cast<std::int64_t>(length);
    const Tensor y = placeholder({.shape = {None, None, 8}});
    const Tensor n = placeholder({.shape = {None}, .dtype = "int32"});
    const CtcDecoded found =
        ctc_decode(y, n, {.greedy = false, .beam_width = paths, .top_paths = paths});
    laps.end("build");
    const Function f = function({y, n}, found.decoded, {.backend = "reference"});
    laps.end("function");
    const std::vector<Array> values = f({Array::full({1, 9, 8}, 0.1), Array{9}});
    laps.end("call");
    if (values.size() != length) throw ValueError("", "", "another number of paths");
  });
}

}  // namespace kiln::test
