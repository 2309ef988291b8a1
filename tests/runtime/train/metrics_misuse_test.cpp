// Tests misuse of kiln/metrics.h.
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <string>
#include <vector>

namespace kiln {
namespace {

using testing::throws;

}  // namespace

TEST_CASE("metrics: misuse") {
  using testing::Misuse;
  using namespace metrics;
  const Tensor x = constant({1., 2.}), y = constant({1., 2., 3.});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [=] { (void)Mean().updates(x, x); },
       "Metric::updates: mean takes values, not y_true and y_pred"},
      {throws<ValueError>(), [=] { (void)Accuracy({.name = "a"}).updates(x); },
       "Metric::updates: a takes y_true and y_pred, not values"},
      {throws<ValueError>(), [=] { (void)Accuracy().updates(x, y); },
       "Metric::updates: y_true float32[2] does not agree with y_pred float32[3]"},
      {throws<ValueError>(), [=] { (void)Recall().updates(x, x, {.sample_weight = y}); },
       "Metric::updates: sample_weight float32[3] does not agree with the values float32[2]"},
      {throws<ValueError>(), [=] { (void)Precision({.thresholds = {0, 1}}).value(); },
       "Metric::value: precision is not a scalar: evaluate result()"},
      {throws<ValueError>(), [] { (void)TopKCategoricalAccuracy({.k = 0}); },
       "TopKCategoricalAccuracy: k 0 is below 1"},
      {throws<ValueError>(), [] { (void)SparseTopKCategoricalAccuracy({.k = -1}); },
       "SparseTopKCategoricalAccuracy: k -1 is below 1"},
      {throws<ValueError>(), [] { (void)Precision({.top_k = 0}); },
       "Precision: top_k 0 is below 1"},
      {throws<ValueError>(), [=] { (void)Recall({.top_k = 1}).updates(x, x); },
       "Metric::updates: top_k 1 needs predictions of rank 2 or more with at least as many classes "
       "along the last axis, not float32[2]"},
      {throws<ValueError>(1),
       [=] { (void)Recall({.top_k = 4}).updates(ones({2, 3}), ones({2, 3})); },
       "Metric::updates: top_k 4 needs predictions of rank 2 or more with at least as many classes "
       "along the last axis, not float32[2,3]"},
      {throws<ValueError>(), [] { (void)Recall({.thresholds = {.5, 1.5}}); },
       "Recall: threshold 1.5 is outside [0, 1]"},
      {throws<ValueError>(), [] { (void)Recall({.class_id = -1}); },
       "Recall: class_id -1 is negative"},
      {throws<ValueError>(), [=] { (void)Recall({.class_id = 3}).updates(x, x); },
       "Metric::updates: class_id 3 needs predictions of rank 2 or more, not float32[2]"},
      {throws<ValueError>(1),
       [=] { (void)Recall({.class_id = 3}).updates(ones({2, 3}), ones({2, 3})); },
       "Metric::updates: start 3 and size 1 are outside of axis 1 (x float32[2,3])"},
      {throws<ValueError>(), [] { (void)AUC({.num_thresholds = 1}); },
       "AUC: num_thresholds 1 is below 2"},
      {throws<ValueError>(), [] { (void)AUC({.curve = "roc"}); },
       "AUC: curve 'roc' is neither 'ROC' nor 'PR'"},
      {throws<ValueError>(), [] { (void)AUC({.summation_method = "minor"}); },
       "AUC: unknown summation_method 'minor': expected interpolation, minoring, majoring"},
      {throws<ValueError>(), [] { (void)AUC({.thresholds = {.5, 2}}); },
       "AUC: threshold 2 is outside [0, 1]"},
      {throws<ValueError>(), [] { (void)AUC({.multi_label = true}); },
       "AUC: multi_label needs num_labels"},
      {throws<ValueError>(), [] { (void)AUC({.num_labels = 2}); },
       "AUC: num_labels needs multi_label"},
      {throws<ValueError>(), [] { (void)AUC({.multi_label = true, .num_labels = 0}); },
       "AUC: num_labels 0 is not positive"},
      {throws<ValueError>(1),
       [] { (void)AUC({.multi_label = true, .num_labels = 3, .label_weights = {1, 2}}); },
       "AUC: 2 label_weights are not num_labels 3"},
      {throws<ValueError>(1),
       [=] { (void)AUC({.multi_label = true, .num_labels = 3}).updates(x, x); },
       "Metric::updates: multi_label needs predictions (samples, 3), not float32[2]"},
      {throws<ValueError>(), [=] { (void)AUC({.label_weights = {1, 2}}).updates(x, x); },
       "Metric::updates: label_weights need predictions of rank 2 or more with 2 labels along the "
       "last axis, not float32[2]"},
      {throws<ValueError>(), [] { (void)MeanMetricWrapper({}); },
       "MeanMetricWrapper: fn is an empty function"}});
}

TEST_CASE("metrics: shapes of labels that do not agree") {
  using testing::Misuse;
  using namespace metrics;
  const auto classes = placeholder({.shape = {None}, .dtype = "int32"});
  const auto scores = placeholder({.shape = {None, 8}});
  const std::string hint = "; class numbers need a Sparse metric or one_hot";
  const std::string are_numbers =
      "Metric::updates: y_true int32[None] does not agree with y_pred float32[None,8]" + hint;
  std::vector<Misuse> rows;
  for (const Metric& metric :
       {Accuracy(), BinaryAccuracy(), CategoricalAccuracy(), TopKCategoricalAccuracy({.k = 2}),
        MeanSquaredError(), MeanAbsoluteError(), RootMeanSquaredError(), Precision(),
        Recall({.class_id = 2}), AUC()}) {
    rows.push_back(
        {throws<ValueError>(), [=] { (void)metric.updates(classes, scores); }, are_numbers});
  }
  for (const Metric& metric : {SparseCategoricalAccuracy(), SparseTopKCategoricalAccuracy()}) {
    rows.push_back({throws<ValueError>(), [=] { (void)metric.updates(scores, scores); },
                    "Metric::updates: y_true float32[None,8] does not agree with y_pred "
                    "float32[None,8]; class numbers have one axis less, or a last one of size 1"});
  }
  testing::run(rows);
}

TEST_CASE("metrics: weights of more axes or entries than the values") {
  using testing::Misuse;
  using namespace metrics;
  const auto values = placeholder({.shape = {None}}), rows = placeholder({.shape = {None, None}});
  const Tensor one = ones({1}), five = ones({5}), matrix = ones({5, 4}), wider = ones({5, 6});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [=] { (void)Mean().updates(values, {.sample_weight = rows}); },
       "Metric::updates: sample_weight float32[None,None] does not agree with the values "
       "float64[None]"},
      {throws<ValueError>(), [=] { (void)Sum().updates(one, {.sample_weight = five}); },
       "Metric::updates: sample_weight float32[5] does not agree with the values float64[1]"},
      {throws<ValueError>(1),
       [=] { (void)Precision().updates(values, values, {.sample_weight = rows}); },
       "Metric::updates: sample_weight float32[None,None] does not agree with the values "
       "float32[None]"},
      {throws<ValueError>(), [=] { (void)AUC().updates(matrix, matrix, {.sample_weight = wider}); },
       "Metric::updates: sample_weight float32[5,6] does not agree with the values float32[5,4]"},
      {throws<ValueError>(1),
       [=] { (void)Recall({.class_id = 1}).updates(matrix, matrix, {.sample_weight = matrix}); },
       "Metric::updates: sample_weight float32[5,4] does not agree with the values float32[5,1]"},
      {throws<ValueError>(), [=] { (void)SparseCategoricalAccuracy().updates(five, ones({1, 3})); },
       "Metric::updates: y_true float32[5] does not agree with y_pred float32[1,3]; class numbers "
       "have one axis less, or a last one of size 1"}});
}

TEST_CASE("metrics: sizes that a call alone knows are compared, not broadcast") {
  using namespace metrics;
  const auto fed = [](const Metric& metric, const Shape& shape_of_true, const Array& y_true,
                      const Array& y_pred) {
    const auto x = placeholder({.shape = shape_of_true});
    const auto y = placeholder({.shape = {None, None}});
    metric.reset();
    function({x, y}, {}, {.updates = metric.updates(x, y)})({y_true, y_pred});
    return metric.value();
  };
  const Array two{{0.f, 1.f}, {1.f, 0.f}}, four{{0.f, .9f, .1f, 0.f}, {.9f, 0.f, 0.f, 0.f}};
  for (const Metric& metric : {CategoricalAccuracy(), TopKCategoricalAccuracy({.k = 1}), Accuracy(),
                               MeanSquaredError(), Precision()}) {
    INFO(metric.name());
    CHECK_THROWS_AS(fed(metric, {None, None}, two, four), ValueError);
    CHECK_THROWS_AS(fed(metric, {1, None}, Array{{0.f, 1.f}}, two), ValueError);
    CHECK(fed(metric, {None, None}, two, two) == (metric.name() == "mean_squared_error" ? 0 : 1));
  }
  const Array classes{1.f, 0.f, 1.f};
  for (const Metric& metric :
       {SparseCategoricalAccuracy(), SparseTopKCategoricalAccuracy({.k = 1})}) {
    INFO(metric.name());
    CHECK_THROWS_AS(fed(metric, {None}, classes, two), ValueError);
    CHECK_THROWS_AS(fed(metric, {1}, Array{1.f}, two), ValueError);
    CHECK(fed(metric, {None}, Array{1.f, 0.f}, two) == 1);
  }
}

TEST_CASE("metrics: weights whose sizes a call alone knows are compared, not broadcast") {
  const auto x = placeholder({.shape = {None}}), weight = placeholder({.shape = {None}});
  const Metric mean = metrics::Mean();
  const auto f = function({x, weight}, {}, {.updates = mean.updates(x, {.sample_weight = weight})});
  CHECK_THROWS_AS(f({Array{1.f, 0.f}, Array{1.f, 2.f, 3.f}}), ValueError);
  CHECK_THROWS_AS(f({Array{1.f}, Array{1.f, 2.f, 3.f}}), ValueError);
  f({Array{1.f, 0.f}, Array{1.f, 3.f}});
  CHECK(mean.value() == 0.25);
}

}  // namespace kiln
