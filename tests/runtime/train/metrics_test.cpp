// Tests kiln/metrics.h: values of Keras 3.5 (keras_metrics.py), and plain loops.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <algorithm>
#include <random>

namespace kiln {
namespace {

using testing::throws;

// The data of keras_metrics.py.
const Array kScores({.1f,  .6f, .3f, .8f, .1f,  .1f, .2f,  .3f, .5f, .4f, .35f,
                     .25f, .3f, .3f, .4f, .05f, .9f, .05f, .6f, .3f, .1f},
                    {7, 3});
const Array kClasses{1, 0, 1, 2, 2, 1, 1};
const Array kOneHot({0.f, 1.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f,
                     1.f, 0.f, 0.f, 1.f, 0.f, 1.f, 0.f, 0.f, 1.f, 0.f},
                    {7, 3});
const Array kLabels{1, 0, 1, 1, 0, 0, 1};
const Array kProbabilities{.9f, .4f, .35f, .6f, .7f, .2f, .5f};
const Array kLogits{1.6f, -.4f, -.6f, .4f, .8f, -1.2f, 0.f};
const Array kSampleWeights{1.f, 2.f, 0.f, .5f, 1.f, 3.f, 1.f};

/// A placeholder for batches of an array.
Tensor placeholder_of(const Array& array) {
  std::vector<ShapeEntry> shape(array.dims().begin(), array.dims().end());
  shape[0] = None;
  return placeholder({.shape = shape, .dtype = array.dtype()});
}

/// The result over the rows of the arrays in batches of 3, 3, 1. Weights may be null.
std::vector<double> result_of(const Metric& metric, std::vector<Array> arrays,
                              const Array* weights) {
  if (weights != nullptr) arrays.push_back(*weights);
  std::vector<Tensor> inputs;
  for (const Array& array : arrays) inputs.push_back(placeholder_of(array));
  SampleWeightOptions options;
  if (weights != nullptr) options.sample_weight = inputs.back();
  const bool is_of_values = arrays.size() == (weights != nullptr ? 2 : 1);
  const Function add =
      function(inputs, {},
               {.updates = is_of_values ? metric.updates(inputs[0], options)
                                        : metric.updates(inputs[0], inputs[1], options)});
  metric.reset();
  for (const auto& batch : Batches(arrays, {.size = 3}).epoch(0)) add(batch);
  const auto values = eval(metric.result()).as<double>();
  return {values.begin(), values.end()};
}

void check_close(const std::vector<double>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == Approx(expected[i]).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("metrics: values of Keras") {
  struct Row {
    const char* name;
    Metric metric;
    std::vector<Array> arrays;
    std::vector<double> plain, weighted;
  };
  using namespace metrics;
  const Array predicted{1, 1, 1, 2, 0, 1, 0};
  const std::vector<Row> rows{
      {"Accuracy", Accuracy(), {kClasses, predicted}, {0.5714286}, {0.5294118}},
      {"BinaryAccuracy", BinaryAccuracy(), {kLabels, kProbabilities}, {0.5714286}, {0.7647059}},
      {"BinaryAccuracy .35",
       BinaryAccuracy({.threshold = .35}),
       {kLabels, kProbabilities},
       {0.5714286},
       {0.6470588}},
      {"CategoricalAccuracy", CategoricalAccuracy(), {kOneHot, kScores}, {0.5714286}, {0.8235294}},
      {"SparseCategoricalAccuracy",
       SparseCategoricalAccuracy(),
       {kClasses, kScores},
       {0.5714286},
       {0.8235294}},
      {"TopKCategoricalAccuracy 2",
       TopKCategoricalAccuracy({.k = 2}),
       {kOneHot, kScores},
       {0.8571429},
       {0.9411765}},
      {"SparseTopKCategoricalAccuracy 2",
       SparseTopKCategoricalAccuracy({.k = 2}),
       {kClasses, kScores},
       {0.8571429},
       {0.9411765}},
      {"Precision", Precision(), {kLabels, kProbabilities}, {0.6666667}, {0.6}},
      {"Precision .2 .6",
       Precision({.thresholds = {.2, .6}}),
       {kLabels, kProbabilities},
       {0.6666667, 0.5},
       {0.4545455, 0.5}},
      {"Precision class 1",
       Precision({.thresholds = {.3}, .class_id = 1}),
       {kOneHot, kScores},
       {0.6666667},
       {0.8888889}},
      {"Recall", Recall(), {kLabels, kProbabilities}, {0.5}, {0.6}},
      {"Recall .2 .6",
       Recall({.thresholds = {.2, .6}}),
       {kLabels, kProbabilities},
       {1, 0.25},
       {1, 0.4}},
      {"Recall one-hot",
       Recall({.thresholds = {.3}}),
       {kOneHot, kScores},
       {0.5714286},
       {0.8235294}},
      {"AUC", AUC(), {kLabels, kProbabilities}, {0.6666666}, {0.9}},
      {"AUC 5", AUC({.num_thresholds = 5}), {kLabels, kProbabilities}, {0.7083333}, {0.85}},
      {"AUC PR", AUC({.curve = "PR"}), {kLabels, kProbabilities}, {0.7355524}, {0.7761537}},
      {"AUC PR 5",
       AUC({.num_thresholds = 5, .curve = "PR"}),
       {kLabels, kProbabilities},
       {0.7769966},
       {0.7515332}},
      {"AUC logits", AUC({.from_logits = true}), {kLabels, kLogits}, {0.6666666}, {0.9}},
      {"AUC PR one-hot", AUC({.curve = "PR"}), {kOneHot, kScores}, {0.6953284}, {0.9126837}},
      {"Precision top 1", Precision({.top_k = 1}), {kOneHot, kScores}, {0.5714286}, {0.8235294}},
      {"Precision top 2 .3 .5",
       Precision({.thresholds = {.3, .5}, .top_k = 2}),
       {kOneHot, kScores},
       {0.5, 0.75},
       {0.7777778, 0.8571429}},
      {"Precision top 2 class 1",
       Precision({.top_k = 2, .class_id = 1}),
       {kOneHot, kScores},
       {0.6666667},
       {0.6666667}},
      {"Recall top 2", Recall({.top_k = 2}), {kOneHot, kScores}, {0.8571429}, {0.9411765}},
      {"Recall top 1 class 2",
       Recall({.top_k = 1, .class_id = 2}),
       {kOneHot, kScores},
       {0.5},
       {0.6666667}},
      {"AUC minoring 5",
       AUC({.num_thresholds = 5, .summation_method = "minoring"}),
       {kLabels, kProbabilities},
       {0.5833333},
       {0.7666667}},
      {"AUC majoring 5",
       AUC({.num_thresholds = 5, .summation_method = "majoring"}),
       {kLabels, kProbabilities},
       {0.8333333},
       {0.9333333}},
      {"AUC PR minoring 5",
       AUC({.num_thresholds = 5, .curve = "PR", .summation_method = "minoring"}),
       {kLabels, kProbabilities},
       {0.5},
       {0.3018182}},
      {"AUC PR majoring 5",
       AUC({.num_thresholds = 5, .curve = "PR", .summation_method = "majoring"}),
       {kLabels, kProbabilities},
       {0.8333334},
       {0.84}},
      {"AUC thresholds",
       AUC({.thresholds = {.65, .1, .45}}),
       {kLabels, kProbabilities},
       {0.625},
       {0.8666667}},
      {"AUC multi_label",
       AUC({.multi_label = true, .num_labels = 3}),
       {kOneHot, kScores},
       {0.8166667},
       {0.9650793}},
      {"AUC multi_label PR weights",
       AUC({.curve = "PR", .multi_label = true, .num_labels = 3, .label_weights = {1, .5, 2}}),
       {kOneHot, kScores},
       {0.6137586},
       {0.9099004}},
      {"AUC label_weights",
       AUC({.label_weights = {1, .5, 2}}),
       {kOneHot, kScores},
       {0.7591837},
       {0.941573}},
      {"MeanSquaredError", MeanSquaredError(), {kOneHot, kScores}, {0.16}, {0.08813725}},
      {"MeanAbsoluteError", MeanAbsoluteError(), {kOneHot, kScores}, {0.3285714}, {0.2176471}},
      {"RootMeanSquaredError", RootMeanSquaredError(), {kOneHot, kScores}, {0.4}, {0.2968792}},
      {"Mean", Mean(), {kProbabilities}, {0.5214286}, {0.4470589}},
      {"Mean of rows", Mean(), {kScores}, {0.3333333}, {0.3333333}},
      {"Sum", Sum(), {kProbabilities}, {3.65}, {3.8}},
      {"Sum of rows", Sum(), {kScores}, {7}, {8.5}}};
  for (const Row& row : rows) {
    INFO(row.name);
    check_close(result_of(row.metric, row.arrays, nullptr), row.plain);
    check_close(result_of(row.metric, row.arrays, &kSampleWeights), row.weighted);
  }
}

TEST_CASE("metrics: weights of elements, columns, scalars, and masks") {
  const Array values({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2});
  struct Row {
    Array weights;
    double mean, sum;
  };
  const std::vector<Row> rows{
      {Array({1.f, 0.f, 2.f, 0.f, 0.f, 1.f}, {3, 2}), (1 + 6 + 6) / 4.0, 13},
      {Array({true, false, true, true, false, false}, {3, 2}), (1 + 3 + 4) / 3.0, 8},
      {Array({1.f, 0.f, 3.f}, {3, 1}), (1.5 + 3 * 5.5) / 4, 3 + 33},
      {Array{true, false, true}, (1.5 + 5.5) / 2, 14},
      {Array{0, 0, 0}, 0, 0}};
  for (const Row& row : rows) {
    INFO(row.weights);
    check_close(result_of(metrics::Mean(), {values}, &row.weights), {row.mean});
    check_close(result_of(metrics::Sum(), {values}, &row.weights), {row.sum});
  }
  // A scalar weighs each sample of its batch.
  const Tensor x = placeholder({.shape = {None}}), w = placeholder({.shape = {}});
  const Metric mean = metrics::Mean();
  const Function add = function({x, w}, {}, {.updates = mean.updates(x, {.sample_weight = w})});
  add({Array{1.f, 1.f, 1.f}, 2.f});
  add({Array{9.f}, 1.f});
  CHECK(mean.value() == Approx(15 / 7.0));
}

TEST_CASE("metrics: errors of vectors count samples, not batches") {
  const Array truth{0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f}, guess{1.f, 1.f, 1.f, 1.f, 1.f, 1.f, 8.f};
  check_close(result_of(metrics::MeanSquaredError(), {truth, guess}, nullptr), {70 / 7.0});
  check_close(result_of(metrics::MeanAbsoluteError(), {truth, guess}, nullptr), {14 / 7.0});
}

TEST_CASE("metrics: classes of (batch, 1) and of time steps") {
  const Array column = kClasses.reshape({7, 1}), weights = kSampleWeights.reshape({7, 1});
  check_close(result_of(metrics::SparseCategoricalAccuracy(), {column, kScores}, nullptr),
              {4 / 7.0});
  check_close(result_of(metrics::SparseCategoricalAccuracy(), {column, kScores}, &weights),
              {7 / 8.5});
  // 7 samples of 2 steps, the second as the first but for its class.
  std::vector<float> scores;
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 7; ++i) {
    for (std::int64_t step = 0; step < 2; ++step) {
      for (std::int64_t j = 0; j < 3; ++j) scores.push_back(kScores.at<float>(i, j));
      classes.push_back((kClasses.at<std::int32_t>(i) + step) % 3);
    }
  }
  const Array steps_x(scores, {7, 2, 3}), steps_y(classes, {7, 2});
  double right = 0, right_of_two = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const float* row = &scores[3 * i];
    int higher = 0, before = 0;
    for (std::int64_t j = 0; j < 3; ++j) {
      higher += row[j] > row[classes[i]];
      before += row[j] == row[classes[i]] && j < classes[i];
    }
    right += higher + before == 0;
    right_of_two += higher < 2;
  }
  check_close(result_of(metrics::SparseCategoricalAccuracy(), {steps_y, steps_x}, nullptr),
              {right / 14});
  check_close(
      result_of(metrics::SparseTopKCategoricalAccuracy({.k = 2}), {steps_y, steps_x}, nullptr),
      {right_of_two / 14});
}

TEST_CASE("metrics: confusion against loops, weights per element, predictions outside [0, 1]") {
  std::mt19937 random(3);
  std::vector<float> predictions, weights;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < 200; ++i) {
    predictions.push_back(static_cast<float>(random() % 1201) / 1000 - 0.1f);
    labels.push_back(random() % 1201 < 1200 * static_cast<unsigned>(predictions.back() > .5) / 2);
    weights.push_back(static_cast<float>(random() % 5));
  }
  const Array y(labels, {50, 4}), p(predictions, {50, 4}), w(weights, {50, 4});
  double tp = 0, fp = 0, fn = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool is_positive = predictions[i] > 0.25f;
    tp += labels[i] != 0 && is_positive ? weights[i] : 0;
    fp += labels[i] == 0 && is_positive ? weights[i] : 0;
    fn += labels[i] != 0 && !is_positive ? weights[i] : 0;
  }
  check_close(result_of(metrics::Precision({.thresholds = {.25}}), {y, p}, &w), {tp / (tp + fp)});
  check_close(result_of(metrics::Recall({.thresholds = {.25}}), {y, p}, &w), {tp / (tp + fn)});
  // Of enough thresholds, the ROC curve is that of all pairs: ties count a half.
  double above = 0, pairs = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (labels[i] == 0 || labels[j] != 0) continue;
      const float a = std::clamp(predictions[i], 0.f, 1.f),
                  b = std::clamp(predictions[j], 0.f, 1.f);
      const double weight = weights[i] * weights[j];
      pairs += weight;
      above += a > b ? weight : a == b ? weight / 2 : 0;
    }
  }
  check_close(result_of(metrics::AUC({.num_thresholds = 2001}), {y, p}, &w), {above / pairs});
}

TEST_CASE("metrics: counts go on beyond 2^24") {
  const Metric mean = metrics::Mean();
  batch_set_value({{mean.variables()[0], Array(0x1p24)}, {mean.variables()[1], Array(0x1p25)}});
  const Function add = function({}, {}, {.updates = mean.updates(constant({1, 1, 1}))});
  for (int i = 0; i < 5; ++i) add();
  CHECK(get_value(mean.variables()[0]).item<double>() == 0x1p24 + 15);
  CHECK(get_value(mean.variables()[1]).item<double>() == 0x1p25 + 15);
}

TEST_CASE("metrics: state, names, and a function of one's own") {
  const Metric loss = metrics::MeanMetricWrapper(
      [](const Tensor& t, const Tensor& p) { return square(p - t); }, {.name = "loss"});
  const Metric same = loss;
  CHECK(loss.name() == "loss");
  CHECK(loss.value() == 0);
  const auto updates = loss.updates(constant({1, 2}), constant({3, 2}));
  const Function f =
      function({}, {loss.result()}, {.updates = updates, .outputs_after_updates = true});
  CHECK(f()[0].item<double>() == 2);
  CHECK(same.value() == 2);
  same.reset();
  CHECK(loss.value() == 0);
  CHECK(metrics::AUC().variables().size() == 4);
}

TEST_CASE("metrics: updates of several metrics in one function") {
  const Tensor x = placeholder({.shape = {None}});
  const Metric mean = metrics::Mean(), total = metrics::Sum();
  const Tensor steps = zeros({});
  const auto updates =
      join_updates({mean.updates(x), total.updates(x), {}, {update_add(steps, 1)}});
  const Function add = function({x}, {}, {.updates = updates});
  add({Array{1.f, 2.f}});
  add({Array{6.f}});
  CHECK(mean.value() == 3);
  CHECK(total.value() == 9);
  CHECK(get_value(steps).item<float>() == 2);
  CHECK(join_updates({}).empty());
}

}  // namespace kiln
