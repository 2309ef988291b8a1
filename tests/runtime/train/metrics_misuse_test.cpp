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
       "Metric::updates: shapes do not broadcast: sizes 3 and 2 of axis -1 (x float64[3], y "
       "float64[2])"},
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

}  // namespace kiln
