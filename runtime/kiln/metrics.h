// Metrics: values that are accumulated over batches in variables, where the model runs. Names and
// formulas: Keras 3.5, keras/src/metrics. State and results are float64, where Keras has float32:
// a float32 count stops at 2^24, when adding 1 no longer changes it.
#pragma once

#include <kiln/update.h>
#include <kiln/variable.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

/// Returns the updates of all lists, for `.updates` of a function that trains and measures. The
/// project's own. Errors: none but OutOfMemory; `function` rejects two updates of one variable.
///     const auto loss = K::metrics::Mean();
///     const auto step = K::zeros({});
///     const auto x = K::constant({1., 2.});
///     const auto updates = K::join_updates({loss.updates(x), {K::update_add(step, 1)}});
///     updates.size();  // 3
[[nodiscard]] KILN_API std::vector<UpdateOp> join_updates(
    const std::vector<std::vector<UpdateOp>>& lists, Where where = Where::here());

struct SampleWeightOptions {
  /// Weights of samples, or of elements: of any dtype; bools are a mask. Its axes are the first
  /// ones of the values', an axis of size 1 broadcasts, a scalar weighs all alike. Unset: 1.
  Tensor sample_weight = {};
};

/// A value accumulated over batches. Create one by a function of kiln::metrics. Copies share the
/// state, whose variables are float64.
///     const auto accuracy = K::metrics::SparseCategoricalAccuracy();
///     const auto classes = K::constant({0, 1}), scores = K::constant({{0.9, 0.1}, {0.7, 0.3}});
///     K::function({}, {}, {.updates = accuracy.updates(classes, scores)})();
///     accuracy.value();  // 0.5
class KILN_API Metric {
 public:
  Metric(const Metric& other) = default;  // and no move, which would leave an empty one
  Metric& operator=(const Metric& other) = default;

  /// Returns the updates that add a batch; pass them to `function` in `.updates`. Axis 0 is that of
  /// samples. One of the two ranks may be larger by a last axis of size 1.
  /// Errors: ValueError for shapes that do not agree, and for a metric that takes values alone.
  [[nodiscard]] std::vector<UpdateOp> updates(const Tensor& y_true, const Tensor& y_pred,
                                              const SampleWeightOptions& options = {},
                                              Where where = Where::here()) const;
  /// The same for Mean and Sum, which take values alone. Errors: those of the other updates().
  [[nodiscard]] std::vector<UpdateOp> updates(const Tensor& values,
                                              const SampleWeightOptions& options = {},
                                              Where where = Where::here()) const;
  /// Returns the value over all batches since the last reset as a float64 tensor: a scalar, or of
  /// shape (thresholds,) for Precision and Recall with other than one. In a function that updates
  /// the metric, it excludes that call's batch unless `.outputs_after_updates` is set.
  [[nodiscard]] Tensor result() const;
  /// Returns result() on the host. Errors: ValueError if it is not a scalar: evaluate result().
  [[nodiscard]] double value(Where where = Where::here()) const;
  /// Forgets all batches.
  void reset(Where where = Where::here()) const;
  /// The variables, for a checkpoint.
  [[nodiscard]] const std::vector<Variable>& variables() const&;
  [[nodiscard]] std::vector<Variable> variables() const&& { return variables(); }
  const std::string& name() const&;
  std::string name() const&& { return name(); }

  struct Definition;
  explicit Metric(std::shared_ptr<const Definition> definition)
      : definition_(std::move(definition)) {}

 private:
  std::shared_ptr<const Definition> definition_;
};

namespace metrics {

/// Values of a batch, whose axis 0 is that of samples.
using MetricFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

struct MetricOptions {
  StringArgument name = {};  ///< prefix of the variables' names; unset: Keras' default
};
struct BinaryAccuracyOptions {
  double threshold = 0.5;  ///< predictions above it count as 1
  StringArgument name = {};
};
struct TopKOptions {
  WholeNumber k = 5;
  StringArgument name = {};
};
struct ConfusionOptions {
  /// A prediction above it is positive. Empty: 0.5, or none with top_k.
  std::vector<double> thresholds = {};
  /// Positive are at most the k largest predictions along the last axis, whose size is known; of
  /// equal ones the first. Unset: all. The graph grows with k.
  std::optional<WholeNumber> top_k = {};
  std::optional<WholeNumber> class_id = {};  ///< the only index of the last axis that counts
  StringArgument name = {};
};
struct AucOptions {
  WholeNumber num_thresholds = 200;  ///< evenly spaced over [0, 1]
  StringArgument curve = "ROC";  ///< or "PR", precision over recall
  /// Between thresholds: "interpolation", or the lower ("minoring") or higher ("majoring") of both
  /// values.
  StringArgument summation_method = "interpolation";
  std::vector<double> thresholds = {};  ///< those between 0 and 1, instead of num_thresholds
  Flag multi_label = false;  ///< the mean of the areas of the labels of (samples, num_labels)
  std::optional<WholeNumber> num_labels = {};  ///< needed by multi_label: variables have it
  /// Weights of that mean, one per label; without multi_label of the elements of the last axis.
  std::vector<double> label_weights = {};
  Flag from_logits = false;  ///< takes sigmoid(y_pred)
  StringArgument name = {};
};

/// Returns the weighted mean of values over samples; 0 before the first. A sample is the mean of
/// its elements.
///     const auto loss = K::metrics::Mean();
///     K::function({}, {}, {.updates = loss.updates(K::constant({1., 2.}))})();
///     loss.value();  // 1.5
[[nodiscard]] KILN_API Metric Mean(const MetricOptions& options = {}, Where where = Where::here());
/// Returns the weighted sum of values.
///     const auto sum = K::metrics::Sum();
///     K::function({}, {}, {.updates = sum.updates(K::constant({1., 2.}))})();
///     sum.value();  // 3
[[nodiscard]] KILN_API Metric Sum(const MetricOptions& options = {}, Where where = Where::here());
/// Returns the Mean of fn(y_true, y_pred): of a loss, for example.
/// Errors: ValueError for an empty fn.
///     const auto loss = K::metrics::MeanMetricWrapper(
///         [](const K::Tensor& t, const K::Tensor& p) { return K::binary_crossentropy(t, p); });
///     const auto updates = loss.updates(K::ones({2}), K::ones({2}) / 2);
///     K::function({}, {}, {.updates = updates})();
///     loss.value() > 0.69 && loss.value() < 0.7;  // true
[[nodiscard]] KILN_API Metric MeanMetricWrapper(MetricFunction fn,
                                                const MetricOptions& options = {},
                                                Where where = Where::here());

/// Returns how often y_pred equals y_true, cast to its dtype.
///     const auto accuracy = K::metrics::Accuracy();
///     const auto updates = accuracy.updates(K::constant({1, 2}), K::constant({1, 3}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 0.5
[[nodiscard]] KILN_API Metric Accuracy(const MetricOptions& options = {},
                                       Where where = Where::here());
/// Returns how often y_pred > threshold equals y_true, labels 0 and 1. y_pred: probabilities.
///     const auto accuracy = K::metrics::BinaryAccuracy();
///     const auto updates = accuracy.updates(K::constant({1, 0}), K::constant({0.6, 0.7}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 0.5
[[nodiscard]] KILN_API Metric BinaryAccuracy(const BinaryAccuracyOptions& options = {},
                                             Where where = Where::here());
/// Returns how often the largest element of y_pred is where y_true's is, along the last axis.
/// y_true: one-hot; y_pred: probabilities or logits, of the same shape.
///     const auto accuracy = K::metrics::CategoricalAccuracy();
///     const auto updates = accuracy.updates(K::constant({{0, 1}}), K::constant({{0.1, 0.9}}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 1
[[nodiscard]] KILN_API Metric CategoricalAccuracy(const MetricOptions& options = {},
                                                  Where where = Where::here());
/// Returns how often the largest element of y_pred (..., classes) is that of class y_true (...) or
/// (..., 1).
///     const auto accuracy = K::metrics::SparseCategoricalAccuracy();
///     const auto updates = accuracy.updates(K::constant({1}), K::constant({{0.1, 0.9}}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 1
[[nodiscard]] KILN_API Metric SparseCategoricalAccuracy(const MetricOptions& options = {},
                                                        Where where = Where::here());
/// Returns how often fewer than k elements of y_pred exceed that of the class, as K::in_top_k does.
/// y_true: one-hot, of y_pred's shape.
/// Errors: ValueError for k < 1.
///     const auto accuracy = K::metrics::TopKCategoricalAccuracy({.k = 1});
///     const auto updates = accuracy.updates(K::constant({{0, 1}}), K::constant({{0.1, 0.9}}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 1
[[nodiscard]] KILN_API Metric TopKCategoricalAccuracy(const TopKOptions& options = {},
                                                      Where where = Where::here());
/// The same for classes y_true (...) or (..., 1) of y_pred (..., classes).
/// Errors: ValueError for k < 1.
///     const auto accuracy = K::metrics::SparseTopKCategoricalAccuracy({.k = 1});
///     const auto updates = accuracy.updates(K::constant({1}), K::constant({{0.1, 0.9}}));
///     K::function({}, {}, {.updates = updates})();
///     accuracy.value();  // 1
[[nodiscard]] KILN_API Metric SparseTopKCategoricalAccuracy(const TopKOptions& options = {},
                                                            Where where = Where::here());

/// Returns the part of positive predictions whose label is not 0; 0 without any. Elements of all
/// axes count; a weight of a sample is that of its elements.
/// Errors: ValueError for a threshold outside [0, 1], top_k < 1 and a negative class_id; of
/// updates(), for predictions of rank 1 or without enough classes for top_k or class_id.
///     const auto precision = K::metrics::Precision();
///     const auto updates = precision.updates(K::constant({1, 0}), K::constant({0.6, 0.7}));
///     K::function({}, {}, {.updates = updates})();
///     precision.value();  // 0.5
[[nodiscard]] KILN_API Metric Precision(const ConfusionOptions& options = {},
                                        Where where = Where::here());
/// Returns the part of labels other than 0 whose prediction is positive; 0 without any. Otherwise
/// as Precision.
/// Errors: those of Precision.
///     const auto recall = K::metrics::Recall();
///     const auto updates = recall.updates(K::constant({1, 0}), K::constant({0.6, 0.7}));
///     K::function({}, {}, {.updates = updates})();
///     recall.value();  // 1
[[nodiscard]] KILN_API Metric Recall(const ConfusionOptions& options = {},
                                     Where where = Where::here());
/// Returns the area under the curve, summed between thresholds. "interpolation": trapezoids for
/// "ROC", Davis and Goadrich's formula (2006) for "PR". y_pred: in [0, 1], or logits with
/// from_logits. Elements and weights: as for Precision.
/// Errors: ValueError for num_thresholds < 2, a threshold outside [0, 1], another curve or
/// summation_method, and a number of labels that is not given, not positive or not that of the
/// weights; of updates(), for predictions of another shape.
///     const auto auc = K::metrics::AUC();
///     const auto updates = auc.updates(K::constant({1, 0}), K::constant({0.6, 0.3}));
///     K::function({}, {}, {.updates = updates})();
///     auc.value();  // 1
[[nodiscard]] KILN_API Metric AUC(const AucOptions& options = {}, Where where = Where::here());

/// Returns the mean of (y_pred - y_true)^2. Of (batch,), each element is a sample; Keras 3.5 counts
/// such a batch as one sample, whatever its size.
///     const auto error = K::metrics::MeanSquaredError();
///     const auto updates = error.updates(K::constant({1, 2}), K::constant({1, 4}));
///     K::function({}, {}, {.updates = updates})();
///     error.value();  // 2
[[nodiscard]] KILN_API Metric MeanSquaredError(const MetricOptions& options = {},
                                               Where where = Where::here());
/// Returns the mean of |y_pred - y_true|. Otherwise as MeanSquaredError.
///     const auto error = K::metrics::MeanAbsoluteError();
///     const auto updates = error.updates(K::constant({1, 2}), K::constant({1, 4}));
///     K::function({}, {}, {.updates = updates})();
///     error.value();  // 1
[[nodiscard]] KILN_API Metric MeanAbsoluteError(const MetricOptions& options = {},
                                                Where where = Where::here());
/// Returns the square root of the mean of (y_pred - y_true)^2 over all batches.
///     const auto error = K::metrics::RootMeanSquaredError();
///     const auto updates = error.updates(K::constant({1, 2}), K::constant({1, 2}));
///     K::function({}, {}, {.updates = updates})();
///     error.value();  // 0
[[nodiscard]] KILN_API Metric RootMeanSquaredError(const MetricOptions& options = {},
                                                   Where where = Where::here());

}  // namespace metrics
}  // namespace kiln
