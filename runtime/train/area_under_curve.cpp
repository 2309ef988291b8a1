// AUC: the area under the ROC or the precision-recall curve. Formulas: Keras 3.5,
// keras/src/metrics/confusion_metrics.py.
#include <kiln/activation.h>

#include "core/types/text.h"
#include "runtime/train/confusion.h"

#include <algorithm>

namespace kiln::metrics {
namespace {

/// The inner thresholds in ascending order between ends moved outwards by epsilon(): the first is
/// below every prediction in [0, 1], the last above.
std::vector<double> auc_thresholds(const AucOptions& options) {
  std::vector<double> thresholds{0};
  if (options.thresholds.empty()) {
    const double last = static_cast<double>(options.num_thresholds) - 1;
    for (std::int64_t i = 1; i + 1 < options.num_thresholds; ++i) {
      thresholds.push_back(static_cast<double>(i) / last);
    }
  } else {
    thresholds.insert(thresholds.end(), options.thresholds.begin(), options.thresholds.end());
    std::sort(thresholds.begin(), thresholds.end());
  }
  thresholds.push_back(1);
  thresholds.front() -= epsilon();
  thresholds.back() += epsilon();
  return thresholds;
}

/// Values at the lower and the upper threshold of each interval.
struct Intervals {
  explicit Intervals(const Tensor& x) {
    std::vector<std::int64_t> begin(static_cast<std::size_t>(ndim(x)), 0), size(begin.size(), -1);
    size[0] = *int_shape(x)[0] - 1;
    lower = slice(x, begin, size);
    begin[0] = 1;
    upper = slice(x, begin, size);
  }
  Tensor lower, upper;
};

/// The areas between thresholds under the curve y over x.
Tensor areas_under(const Intervals& x, const Intervals& y, const std::string& summation) {
  const Tensor width = x.lower - x.upper;
  if (summation == "minoring") return width * minimum(y.lower, y.upper);
  if (summation == "majoring") return width * maximum(y.lower, y.upper);
  return width * (y.lower + y.upper) / 2;
}

/// Davis and Goadrich, "The relationship between precision-recall and ROC curves", 2006, section 4:
/// between thresholds, true positives are linear in all positive predictions.
Tensor interpolated_precision_areas(const Confusion& state) {
  const Intervals hits(state.true_positives);
  const Intervals predicted(state.true_positives + state.false_positives);
  const Tensor gained = hits.lower - hits.upper;
  const Tensor slope = ratio(gained, maximum(predicted.lower - predicted.upper, 0));
  const Tensor intercept = hits.upper - slope * predicted.upper;
  const Tensor ones = ones_like(predicted.upper);
  const Tensor growth = switch_(predicted.lower > 0 && predicted.upper > 0,
                                ratio(predicted.lower, predicted.upper), ones);
  return ratio(slope * (gained + intercept * log(growth)), state.positives * ones);
}

/// The areas between thresholds, (thresholds - 1,) or (thresholds - 1, labels).
Tensor areas_of(const Confusion& state, const AucOptions& options) {
  const Tensor ones = ones_like(state.true_positives);
  const Tensor recall = ratio(state.true_positives, state.positives * ones);
  if (options.curve == "ROC") {
    const Tensor fall_out = ratio(state.false_positives, state.negatives * ones);
    return areas_under(Intervals(fall_out), Intervals(recall), options.summation_method);
  }
  if (options.summation_method == "interpolation") return interpolated_precision_areas(state);
  const Tensor precision =
      ratio(state.true_positives, state.true_positives + state.false_positives);
  return areas_under(Intervals(recall), Intervals(precision), options.summation_method);
}

/// The area, the mean of labels with their weights.
Tensor result_of(const Tensor& areas, const AucOptions& options) {
  const Tensor area = sum(areas, {.axis = 0});
  if (!options.multi_label) return area;
  if (options.label_weights.empty()) return mean(area);
  const Tensor weights = constant(Array(options.label_weights), {.dtype = DType::Float64});
  return ratio(sum(area * weights), sum(weights));
}

void require_auc(bool holds, const char* argument, const std::string& message, Where where) {
  if (!holds) throw ValueError("AUC", argument, message, where);
}

void require_options(const AucOptions& o, Where where) {
  require_auc(o.num_thresholds >= 2, "num_thresholds",
              text("num_thresholds ", o.num_thresholds, " is below 2"), where);
  require_auc(o.curve == "ROC" || o.curve == "PR", "curve",
              text("curve '", o.curve, "' is neither 'ROC' nor 'PR'"), where);
  require_auc(o.summation_method == "interpolation" || o.summation_method == "minoring" ||
                  o.summation_method == "majoring",
              "summation_method",
              text("unknown summation_method '", o.summation_method,
                   "': expected interpolation, minoring, majoring"),
              where);
  for (const double threshold : o.thresholds) {
    require_auc(threshold >= 0 && threshold <= 1, "thresholds",
                text("threshold ", threshold, " is outside [0, 1]"), where);
  }
  require_auc(o.num_labels.has_value() == o.multi_label, "num_labels",
              o.multi_label ? "multi_label needs num_labels" : "num_labels needs multi_label",
              where);
  require_auc(!o.num_labels || *o.num_labels > 0, "num_labels",
              text("num_labels ", o.num_labels.value_or(0), " is not positive"), where);
  const auto weights = static_cast<std::int64_t>(o.label_weights.size());
  require_auc(!o.num_labels || weights == 0 || weights == *o.num_labels, "label_weights",
              text(weights, " label_weights are not num_labels ", o.num_labels.value_or(0)), where);
}

}  // namespace

Metric AUC(const AucOptions& options, Where where) {
  return named_call("AUC", where, [&] {
    require_options(options, where);
    const std::string name = name_or(options.name, "auc");
    ConfusionRules rules{.thresholds = auc_thresholds(options), .labels = options.num_labels};
    if (!options.multi_label) rules.label_weights = options.label_weights;
    const Confusion state(name, rules);
    const auto in_unit_interval = [from_logits = options.from_logits](const MetricBatch& batch) {
      const Tensor y_pred = as_floating(batch.y_pred);
      return MetricBatch{batch.y_true, clip(from_logits ? sigmoid(y_pred) : y_pred, 0, 1),
                         batch.sample_weight};
    };
    const Tensor result = result_of(areas_of(state, options), options);
    return confusion_metric(name, state, std::move(rules), in_unit_interval, result);
  });
}

}  // namespace kiln::metrics
