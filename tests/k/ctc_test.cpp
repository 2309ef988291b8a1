// Tests ctc_batch_cost. Costs are compared with sums over all alignments, with the forward
// recursion in double, with PyTorch's ctc_loss and with the figures of Keras 2.3.1's own tests.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/ctc.h"
#include "tests/support/misuse.h"

#include <algorithm>

namespace kiln::test {
namespace {

using testing::throws;
using testing::throws_at;

const Array& keras_labels() {
  static const Array array = i32({2, 5}, {0, 1, 2, 1, 0, 0, 1, 1, 0, -1});
  return array;
}

Tensor cost(const Tensors& x) { return ctc_batch_cost(x[0], x[1], x[2], x[3]); }
Tensor slope(const Tensors& x) { return gradients(sum(cost(x)), {x[1]})[0]; }

/// Four samples of (7 steps, 5 classes); the last has more labels than its steps allow.
const Array& wave_labels() {
  static const Array array = i32({4, 3}, {0, 1, 2, 3, 3, -1, 2, -7, 99, 1, 1, 1});
  return array;
}
const Array& wave_steps() {
  static const Array array = column({7, 6, 3, 4});
  return array;
}
const Array& wave_counts() {
  static const Array array = column({3, 2, 1, 3});
  return array;
}

/// -log P(labels) by the forward recursion on probabilities, not on logarithms.
double recursive_cost(std::span<const float> scores, std::int64_t steps, std::size_t classes,
                      const Labels& labels) {
  const auto blank = static_cast<std::int64_t>(classes) - 1;
  Labels states{blank};
  for (const std::int64_t label : labels) states.insert(states.end(), {label, blank});
  std::vector<double> alpha(states.size(), 0);
  alpha[0] = 1;  // before the first step, in the first blank
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::vector<double> p =
        normalised(scores.subspan(static_cast<std::size_t>(t) * classes, classes));
    std::vector<double> next(states.size(), 0);
    for (std::size_t s = 0; s < states.size(); ++s) {
      double sum = alpha[s];
      if (s >= 1) sum += alpha[s - 1];
      if (s >= 2 && states[s] != blank && states[s] != states[s - 2]) sum += alpha[s - 2];
      next[s] = sum * p[static_cast<std::size_t>(states[s])];
    }
    alpha = next;
  }
  return -std::log(alpha.back() + (labels.empty() ? 0 : alpha[alpha.size() - 2]));
}

}  // namespace

std::vector<Row> ctc_cost_rows() {
  const float a = 0.6f, b = 0.4f;
  return {
      {"ctc_batch_cost",
       {keras_labels(), keras_probabilities(), column({5, 5}), column({5, 4})},
       cost,
       f32({2, 1}, {3.3421146f, 5.4226232f}),
       1e-5},
      // 0 in two steps: "00", "0-", "-0"
      {"ctc_batch_cost one sample",
       {i32({1, 1}, {0}), coin(), column({2}), column({1})},
       cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}),
       1e-5},
      {"ctc_batch_cost one step",
       {i32({1, 1}, {0}), coin(), column({1}), column({1})},
       cost,
       f32({1, 1}, {-std::log(a)}),
       1e-5},
      {"ctc_batch_cost no label",
       {i32({1, 1}, {-1}), coin(), column({2}), column({0})},
       cost,
       f32({1, 1}, {-2 * std::log(b)}),
       1e-5},
      {"ctc_batch_cost no room for labels",
       {i32({1, 0}, {}), coin(), column({2}), column({0})},
       cost,
       f32({1, 1}, {-2 * std::log(b)}),
       1e-5},
      {"ctc_batch_cost no step",
       {i32({2, 1}, {0, 0}), f32({2, 2, 2}, std::vector<float>(8, 0.5f)), column({0, 0}),
        column({0, 1})},
       cost,
       f32({2, 1}, {0, kInf})},
      {"ctc_batch_cost no sample",
       {i32({0, 3}, {}), f32({0, 2, 2}, {}), column({}), column({})},
       cost,
       f32({0, 1}, {})},
      {"ctc_batch_cost too short",
       {i32({1, 2}, {0, 0}), coin(), column({2}), column({2})},
       cost,
       f32({1, 1}, {kInf})},
      {"ctc_batch_cost slope, too short",
       {i32({1, 2}, {0, 0}), coin(), column({2}), column({2})},
       slope,
       f32({1, 2, 2}, {0, 0, 0, 0})},
      {"ctc_batch_cost behind the last step",
       {i32({1, 1}, {0}), f32({1, 3, 2}, {a, b, a, b, kNaN, kInf}), column({2}), column({1})},
       cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}),
       1e-5},
      {"ctc_batch_cost slope behind the last step",
       {i32({1, 1}, {0}), f32({1, 2, 2}, {a, b, kNaN, kInf}), column({1}), column({1})},
       slope,
       f32({1, 2, 2}, {1 - 1 / a, 1, 0, 0}),
       1e-5},
      {"ctc_batch_cost probabilities that are not divided by their sum",
       {i32({1, 1}, {0}), f32({1, 1, 2}, {3, 1}), column({1}), column({1})},
       cost,
       f32({1, 1}, {-std::log(0.75f)}),
       1e-5},
      {"ctc_batch_cost float labels, lengths without axis",
       {f32({1, 1}, {0}), coin(), i64({1}, {2}), i64({1}, {1})},
       cost,
       f32({1, 1}, {-std::log(a * a + 2 * a * b)}),
       1e-5},
      // PyTorch 2.15's ctc_loss of log((p + 1e-7) / sum), in float64.
      {"ctc_batch_cost of PyTorch",
       {wave_labels(), score_wave({4, 7, 5}), wave_steps(), wave_counts()},
       cost,
       f32({4, 1}, {6.63429547f, 6.83562993f, 2.81052717f, kInf}),
       1e-5},
      // Its gradient times sin(0.9 i), summed over steps and classes.
      {"ctc_batch_cost slope of PyTorch",
       {wave_labels(), score_wave({4, 7, 5}), wave_steps(), wave_counts()},
       [](const Tensors& x) {
         Array weights = Array::zeros({4, 7, 5});
         int i = 0;
         for (float& weight : weights.as<float>()) {
           weight = static_cast<float>(std::sin(0.9 * ++i));
         }
         return sum(slope(x) * constant(weights), {.axis = {1, 2}});
       },
       f32({4}, {0.943243196f, 2.33173634f, -0.0862126802f, 0}),
       1e-4},
      {"ctc_batch_cost certain of another label",
       {i32({1, 1}, {0}), f32({1, 1, 3}, {0, 1, 0}), column({1}), column({1})},
       cost,
       f32({1, 1}, {16.1180958f}),
       1e-5},  // -log(1e-7 / (1 + 3e-7))
      {"ctc_batch_cost no step for a label",
       {i32({1, 1}, {0}), f32({1, 0, 2}, {}), column({0}), column({1})},
       cost,
       f32({1, 1}, {kInf})},
      {"ctc_batch_cost slope, no step",
       {i32({1, 1}, {0}), f32({1, 0, 2}, {}), column({0}), column({1})},
       slope,
       f32({1, 0, 2}, {})},
      {"ctc_batch_cost the blank alone",
       {i32({1, 0}, {}), f32({1, 3, 1}, {1, 2, 3}), column({3}), column({0})},
       cost,
       f32({1, 1}, {0})},
      {"ctc_batch_cost second order of what is too short",
       {i32({1, 2}, {0, 0}), coin(), column({2}), column({2})},
       [](const Tensors& x) { return gradients(sum(square(slope(x))), {x[1]})[0]; },
       f32({1, 2, 2}, {0, 0, 0, 0})},
  };
}

std::vector<Row> ctc_rows() {
  std::vector<Row> all = ctc_cost_rows();
  const std::vector<Row> parts = ctc_part_rows();
  all.insert(all.end(), parts.begin(), parts.end());
  return all;
}

namespace {

const SmoothRow kCtcGradients[] = {
    {"ctc_batch_cost",
     {{2, 4, 3}},
     [](const Tensors& x) {
       return ctc_batch_cost(constant(i32({2, 2}, {0, 1, 1, -1}), {.dtype = "int32"}), x[0],
                             constant(column({4, 3}), {.dtype = "int32"}),
                             constant(column({2, 1}), {.dtype = "int32"}));
     },
     0.2,
     1},
    {"ctc_batch_cost repeated label",
     {{1, 4, 2}},
     [](const Tensors& x) {
       return ctc_batch_cost(constant(i32({1, 2}, {0, 0}), {.dtype = "int32"}), x[0],
                             constant(column({4}), {.dtype = "int32"}),
                             constant(column({2}), {.dtype = "int32"}));
     },
     0.2,
     1},
    {"ctc_batch_cost beside what is too short",
     {{2, 3, 3}},
     [](const Tensors& x) {
       const Tensor cost = ctc_batch_cost(constant(i32({2, 2}, {0, 1, 1, 1}), {.dtype = "int32"}),
                                          x[0], constant(column({3, 2}), {.dtype = "int32"}),
                                          constant(column({2, 2}), {.dtype = "int32"}));
       return cost[0] * 3;
     },
     0.2,
     1},
};

}  // namespace

TEST_CASE("ctc_batch_cost: values", "[k]") { run(ctc_cost_rows()); }

TEST_CASE("ctc_batch_cost: gradients", "[k]") {
  for (const SmoothRow& row : kCtcGradients) run(row);
}

TEST_CASE("ctc_batch_cost: equals the sum over all alignments", "[k]") {
  const int steps = 5, classes = 3;
  for (const Labels& labels : {Labels{0}, {1, 0}, {0, 0}, {0, 1, 1}, {1, 1, 1}, {0, 1, 0, 1}}) {
    const Array scores = random_scores({1, steps, classes}, static_cast<unsigned>(labels.size()));
    const auto count = static_cast<std::int64_t>(labels.size());
    const Tensor y = placeholder({.shape = {None, None, 3}});
    const Tensor found = ctc_batch_cost(constant(Array(labels, {1, count}), {.dtype = "int64"}), y,
                                        constant(column({steps}), {.dtype = "int32"}),
                                        constant(Array(Labels{count}), {.dtype = "int64"}));
    const Array value = evaluate({y}, {found}, {scores})[0];
    const double expected = -std::log(by_alignments(scores.as<float>(), steps, classes)[labels]);
    CHECK(difference(value, f32({1, 1}, {static_cast<float>(expected)}), 1e-5) == "");
  }
}

TEST_CASE("ctc_batch_cost: equals the recursion for many steps and labels", "[k]") {
  constexpr std::int64_t kSamples = 4, kSteps = 60, kLongest = 20;
  constexpr std::size_t kClasses = 7;
  const Array scores = random_scores({kSamples, kSteps, 7}, 11);
  std::mt19937 engine(12);
  Array labels = Array::full({kSamples, kLongest}, -1, DType::Int64);
  const std::vector<std::int32_t> steps{60, 59, 41, 60}, counts{20, 0, 13, 7};
  std::vector<float> expected;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    Labels own;
    for (std::int32_t i = 0; i < counts[sample]; ++i) {
      own.push_back(static_cast<std::int64_t>(engine() % (kClasses - 1)));
      labels.as<std::int64_t>()[sample * kLongest + static_cast<std::size_t>(i)] = own.back();
    }
    const auto one = scores.as<float>().subspan(sample * kSteps * kClasses, kSteps * kClasses);
    expected.push_back(static_cast<float>(recursive_cost(one, steps[sample], kClasses, own)));
  }
  run(Row{"ctc_batch_cost of many steps",
          {labels, scores, column(steps), column(counts)},
          cost,
          f32({kSamples, 1}, expected),
          1e-5});
}

TEST_CASE("ctc_batch_cost: every float dtype and every numeric dtype of labels", "[k]") {
  struct Precision {
    const char* dtype;
    double tolerance;
  };
  const Precision floats[] = {
      {"float64", 1e-6}, {"float32", 1e-5}, {"float16", 2e-3}, {"bfloat16", 2e-2}};
  for (const Precision& precision : floats) {
    for (const char* label : {"int32", "uint8", "float32", "float64"}) {
      INFO(precision.dtype << ", labels " << label);
      const Tensor t = placeholder({.shape = {2, 2}, .dtype = label});
      const Tensor y = placeholder({.shape = {2, None, 3}, .dtype = precision.dtype});
      const Tensor n = placeholder({.shape = {None, 1}, .dtype = "int16"});
      const Tensor m = placeholder({.shape = {None}, .dtype = "uint32"});
      const Tensor found = ctc_batch_cost(t, y, n, m);
      CHECK(dtype(found) == precision.dtype);
      CHECK(dtype(gradients(sum(found), {y})[0]) == precision.dtype);
      const Array labels = i32({2, 2}, {1, 0, 1, 1}), scores = random_scores({2, 5, 3}, 13);
      const Array value =
          evaluate({t, y, n, m}, {found},
                   {labels.astype(*dtype_of_name(label)), scores,
                    column({5, 4}).astype(DType::Int16), Array{2, 1}.astype(DType::UInt32)})[0];
      const auto p = scores.as<float>();
      const double first = recursive_cost(p.subspan(0, 15), 5, 3, {1, 0});
      const double second = recursive_cost(p.subspan(15, 15), 4, 3, {1});
      CHECK(difference(value.astype(DType::Float64),
                       Array(std::vector<double>{first, second}, {2, 1}),
                       precision.tolerance) == "");
    }
  }
}

TEST_CASE("ctc_batch_cost: misuse", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype) {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const Tensor y = of({2, 5, 4}, "float32"), labels = of({2, 3}, "int32"), n = of({2, 1}, "int32");
  const Tensor flat = of({2}, "int32");
  testing::run({
      {throws<TypeError>(), [&] { ctc_batch_cost(n, labels, n, n); },
       "ctc_batch_cost: y_pred is not floating point (y_pred int32[2,3])"},
      {throws<TypeError>(), [&] { ctc_batch_cost(of({2, 3}, "bool"), y, n, n); },
       "ctc_batch_cost: y_true is bool, not a number (y_true bool[2,3])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(flat, y, n, n); },
       "ctc_batch_cost: ranks are not 2 and 3 (y_true int32[2], y_pred float32[2,5,4])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, of({2, 5}, "float32"), n, n); },
       "ctc_batch_cost: ranks are not 2 and 3 (y_true int32[2,3], y_pred float32[2,5])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(of({3, 3}, "int32"), y, n, n); },
       "ctc_batch_cost: batch sizes differ (y_true int32[3,3], y_pred float32[2,5,4])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, of({2, 5, 0}, "float32"), n, n); },
       "ctc_batch_cost: y_pred has no classes (y_true int32[2,3], y_pred float32[2,5,0])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, y, labels, n); },
       "ctc_batch_cost: input_length is not (samples, 1) (input_length int32[2,3])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, y, n, of({}, "int32")); },
       "ctc_batch_cost: label_length is not (samples, 1) (label_length int32[])"},
      {throws<TypeError>(), [&] { ctc_batch_cost(labels, y, n, of({2}, "bool")); },
       "ctc_batch_cost: label_length is bool, not a number (label_length bool[2])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, y, of({3}, "int32"), n); },
       "ctc_batch_cost: input_length is not for 2 samples, as y_pred is (input_length int32[3])"},
      {throws<ValueError>(), [&] { ctc_batch_cost(labels, y, n, Tensor()); },
       "ctc_batch_cost: label_length is an empty tensor"},
  });
}

TEST_CASE("ctc_batch_cost: a NaN label is an error, unless it is beyond the length", "[k]") {
  const Array good = Array::full({1, 3, 3}, 0.3);
  for (const char* dtype : {"float16", "float32", "float64"}) {
    INFO(dtype);
    const Tensor t = placeholder({.shape = {1, 2}, .dtype = dtype});
    const Tensor y = placeholder({.shape = {1, 3, 3}}), n = placeholder({.shape = {1, 1}});
    const Function f = function({t, y, n}, {ctc_batch_cost(t, y, constant({{3.}}), n)},
                                {.name = "f", .backend = tested_backend()});
    const Array labels = Array({0.f, NAN}, {1, 2}).astype(*dtype_of_name(dtype));
    CHECK_THAT(testing::error_text<ValueError>([&] { f({labels, good, column({2})}); }),
               Catch::Matchers::StartsWith("f: index -1 is outside of an axis of size 2 (op gather "
                                           "of ctc_batch_cost.y_true"));
    CHECK(f({labels, good, column({1})})[0].item<float>() > 0);
  }
}

TEST_CASE("ctc_batch_cost: labels and lengths that do not fit are errors of the call", "[k]") {
  const Tensor t = placeholder({.shape = {1, 2}, .dtype = "int32", .name = "labels"});
  const Tensor y = placeholder({.shape = {1, 3, None}, .name = "y"});
  const Tensor n = placeholder({.shape = {1, 1}, .dtype = "int32", .name = "n"});
  const Tensor m = placeholder({.shape = {1, 1}, .dtype = "int32", .name = "m"});
  const unsigned line = __LINE__ + 1;
  const Tensor found = ctc_batch_cost(t, y, n, m);
  const Array good = Array::full({1, 3, 3}, 0.3), labels = i32({1, 2}, {0, 1});
  const std::string location = " at " __FILE__ ":" + std::to_string(line) + ")";
  for (const bool with_slope : {false, true}) {
    Tensors results{found};
    if (with_slope) results.push_back(gradients(sum(found), {y})[0]);
    const Function f = function({t, y, n, m}, results, {.name = "f", .backend = tested_backend()});
    const auto message = [&](const Array& given, int steps, int count) {
      return testing::error_text<ValueError>(
          [&] { f({given, good, column({steps}), column({count})}); });
    };
    CHECK(message(i32({1, 2}, {0, 2}), 3, 2) ==
          "f: index 2 is outside of an axis of size 2 (op gather of ctc_batch_cost.y_true" +
              location);
    CHECK(message(i32({1, 2}, {0, -1}), 3, 2) ==
          "f: index -1 is outside of an axis of size 2 (op gather of ctc_batch_cost.y_true" +
              location);
    CHECK(message(labels, 4, 2) ==
          "f: index 4 is outside of an axis of size 4 (op gather of ctc_batch_cost.input_length" +
              location);
    CHECK(message(labels, -1, 2) ==
          "f: index -1 is outside of an axis of size 4 (op gather of ctc_batch_cost.input_length" +
              location);
    CHECK(message(labels, 3, 3) ==
          "f: index 3 is outside of an axis of size 3 (op gather of ctc_batch_cost.label_length" +
              location);
    CHECK(message(labels, 3, -2) ==
          "f: index -2 is outside of an axis of size 3 (op gather of ctc_batch_cost.label_length" +
              location);
    CHECK(message(i32({1, 2}, {0, 77}), 3, 1) == "no error");
    CHECK(message(labels, 3, 2) == "no error");
    testing::run({{throws_at<ValueError>(line),
                   [&] { f({labels, Array::zeros({1, 3, 0}), column({3}), column({0})}); },
                   "ctc_batch_cost: size y.2-1 is negative; in this call y.2-1 is -1"}});
  }
}

}  // namespace kiln::test
