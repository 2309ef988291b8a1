// Precision and Recall. Formulas: Keras 3.5, keras/src/metrics/confusion_metrics.py.
#include "core/types/text.h"
#include "runtime/train/confusion.h"

#include <limits>

namespace kiln::metrics {
namespace {

void require_options(const char* function, const ConfusionOptions& options, Where where) {
  for (const double threshold : options.thresholds) {
    if (threshold >= 0 && threshold <= 1) continue;
    throw ValueError(function, "thresholds", text("threshold ", threshold, " is outside [0, 1]"),
                     where);
  }
  if (options.top_k && *options.top_k < 1) {
    throw ValueError(function, "top_k", text("top_k ", *options.top_k, " is below 1"), where);
  }
  if (options.class_id && *options.class_id < 0) {
    throw ValueError(function, "class_id", text("class_id ", *options.class_id, " is negative"),
                     where);
  }
}

/// The metric result_of(state) of checked options.
Metric metric_of(const std::string& name, const ConfusionOptions& options,
                 Tensor (*result_of)(const Confusion&)) {
  ConfusionRules rules{
      .thresholds = options.thresholds, .top_k = options.top_k, .class_id = options.class_id};
  if (rules.thresholds.empty()) {
    rules.thresholds = {options.top_k ? -std::numeric_limits<double>::infinity() : 0.5};
  }
  const Confusion state(name, rules);
  Tensor result = result_of(state);
  if (rules.thresholds.size() == 1) result = squeeze(result, 0);
  return confusion_metric(name, state, std::move(rules), {}, result);
}

Tensor precision_of(const Confusion& state) {
  return ratio(state.true_positives, state.true_positives + state.false_positives);
}

Tensor recall_of(const Confusion& state) {
  return ratio(state.true_positives, state.positives * ones_like(state.true_positives));
}

}  // namespace

Metric Precision(const ConfusionOptions& options, Where where) {
  return named_call("Precision", where, [&] {
    require_options("Precision", options, where);
    return metric_of(name_or(options.name, "precision"), options, &precision_of);
  });
}

Metric Recall(const ConfusionOptions& options, Where where) {
  return named_call("Recall", where, [&] {
    require_options("Recall", options, where);
    return metric_of(name_or(options.name, "recall"), options, &recall_of);
  });
}

}  // namespace kiln::metrics
