// Counts of true and false positives at thresholds: the state of Precision, Recall and AUC.
#pragma once

#include <kiln/k.h>

#include "runtime/train/metric_definition.h"

namespace kiln::metrics {

/// Which elements count, and how the state is laid out.
struct ConfusionRules {
  std::vector<double> thresholds;  ///< a prediction above one is positive
  std::optional<std::int64_t> top_k = {}, class_id = {};
  /// Labels of (samples, labels) with a state of their own each; unset: all elements have one.
  std::optional<std::int64_t> labels = {};
  std::vector<double> label_weights = {};  ///< of the last axis; empty: 1
};

/// The variables: of shape (thresholds,), or (thresholds, labels).
struct Confusion {
  Confusion(const std::string& name, const ConfusionRules& rules);

  Variable true_positives, false_positives;
  Variable positives, negatives;  ///< weights of labels, with 1 instead of thresholds
};

/// A metric with that state. result: a function of it.
Metric confusion_metric(const std::string& name, const Confusion& state, ConfusionRules rules,
                        const std::function<MetricBatch(const MetricBatch&)>& prepare,
                        const Tensor& result);

}  // namespace kiln::metrics
