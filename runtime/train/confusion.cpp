// Counts true and false positives at thresholds. Formulas: Keras 3.5,
// keras/src/metrics/metrics_utils.py.
#include "runtime/train/confusion.h"

#include "core/types/text.h"

#include <limits>

namespace kiln::metrics {
namespace {

/// Labels that are not 0, predictions and weights, each of shape (elements, 1), or (samples, 1,
/// labels); weights are empty for none.
struct Elements {
  Tensor is_true, y_pred, weights;
};

/// Returns the elements of that index of the last axis, which stays with size 1.
Tensor class_of(const Tensor& x, std::int64_t class_id) {
  std::vector<std::int64_t> start(static_cast<std::size_t>(ndim(x)), 0), size(start.size(), -1);
  start.back() = class_id;
  size.back() = 1;
  return slice(x, start, size);
}

/// Returns weights in the shape of x, whose first axes are theirs.
Tensor weights_over(const Tensor& x, Tensor weight) {
  if (ndim(weight) == ndim(x) + 1 && int_shape(weight).back() == 1) weight = squeeze(weight, -1);
  if (ndim(weight) > ndim(x)) reject_weights(weight, x);
  while (ndim(weight) > 0 && ndim(weight) < ndim(x)) weight = expand_dims(weight);
  return weights_like(x, weight);
}

[[noreturn]] void reject(const char* argument, const std::string& message) {
  throw ValueError("Metric::updates", argument, message);
}

/// Returns x with -infinity in place of all but the k largest elements along the last axis; of
/// equal ones the first are larger.
Tensor largest_only(const Tensor& x, std::int64_t k) {
  const std::optional<std::int64_t> count = ndim(x) < 2 ? std::nullopt : int_shape(x).back();
  if (!count || *count < k) {
    reject("y_pred", text("top_k ", k,
                          " needs predictions of rank 2 or more with at least as many "
                          "classes along the last axis, not ",
                          x));
  }
  const Tensor lowest = -std::numeric_limits<double>::infinity() * ones_like(x);
  Tensor others = x, is_kept;
  for (std::int64_t i = 0; i < k; ++i) {
    const Tensor is_largest = cast(one_hot(argmax(others), *count), DType::Bool);
    is_kept = i == 0 ? is_largest : is_kept || is_largest;
    others = switch_(is_largest, lowest, others);
  }
  return switch_(is_kept, x, lowest);
}

/// The weights of elements: those of samples times those of labels; empty for none.
Tensor weights_of(const MetricBatch& batch, const ConfusionRules& rules, const Tensor& y_pred) {
  Tensor weights;
  if (is_given(batch.sample_weight)) weights = weights_over(y_pred, batch.sample_weight);
  if (rules.label_weights.empty()) return weights;
  const auto count = static_cast<std::int64_t>(rules.label_weights.size());
  if (ndim(y_pred) < 2 || int_shape(y_pred).back() != count) {
    reject("y_pred", text("label_weights need predictions of rank 2 or more with ", count,
                          " labels along the last axis, not ", y_pred));
  }
  const Tensor of_labels = constant(Array(rules.label_weights), {.dtype = DType::Float64});
  return is_given(weights) ? weights * of_labels : of_labels * as_double(ones_like(y_pred));
}

Elements elements_of(const MetricBatch& batch, const ConfusionRules& rules) {
  Tensor y_true = batch.y_true, y_pred = as_floating(batch.y_pred);
  match_shapes(y_true, y_pred);
  if (rules.labels && (ndim(y_pred) != 2 || int_shape(y_pred)[1] != *rules.labels)) {
    reject("y_pred", text("multi_label needs predictions (samples, ", *rules.labels, "), not ",
                          batch.y_pred));
  }
  if (rules.top_k) y_pred = largest_only(y_pred, *rules.top_k);
  if (rules.class_id) {
    if (ndim(y_pred) < 2) {
      reject("y_pred", text("class_id ", *rules.class_id,
                            " needs predictions of rank 2 or more, not ", batch.y_pred));
    }
    y_true = class_of(y_true, *rules.class_id);
    y_pred = class_of(y_pred, *rules.class_id);
  }
  const Tensor is_true = logical_and(y_true != 0, cast(ones_like(y_pred), DType::Bool));
  const Tensor weights = weights_of(batch, rules, y_pred);
  const Shape shape = rules.labels ? Shape{-1, 1, *rules.labels} : Shape{-1, 1};
  return {reshape(is_true, shape), reshape(y_pred, shape),
          is_given(weights) ? reshape(weights, shape) : weights};
}

/// Returns the sum of the weights of elements where `condition` is true, for each threshold.
Tensor weight_where(const Tensor& condition, const Tensor& weights) {
  const Tensor counted = as_double(condition);
  return sum(is_given(weights) ? counted * weights : counted, {.axis = 0});
}

/// The sizes of a state of `count` thresholds.
std::vector<std::int64_t> state_dims(const ConfusionRules& rules, std::int64_t count) {
  if (rules.labels) return {count, *rules.labels};
  return {count};
}

/// The summands of a batch in the variables of Confusion.
std::vector<Tensor> confusion_of(const Elements& elements, const ConfusionRules& rules) {
  std::vector<std::int64_t> dims{1, static_cast<std::int64_t>(rules.thresholds.size())};
  if (rules.labels) dims.push_back(1);
  const Tensor limits = constant(Array(rules.thresholds, dims), {.dtype = dtype(elements.y_pred)});
  const Tensor is_positive = elements.y_pred > limits, is_false = !elements.is_true;
  return {weight_where(is_positive && elements.is_true, elements.weights),
          weight_where(is_positive && is_false, elements.weights),
          weight_where(elements.is_true, elements.weights),
          weight_where(is_false, elements.weights)};
}

}  // namespace

Confusion::Confusion(const std::string& name, const ConfusionRules& rules) {
  const auto count = static_cast<std::int64_t>(rules.thresholds.size());
  true_positives = zero_state(name, "true_positives", state_dims(rules, count));
  false_positives = zero_state(name, "false_positives", state_dims(rules, count));
  positives = zero_state(name, "positives", state_dims(rules, 1));
  negatives = zero_state(name, "negatives", state_dims(rules, 1));
}

Metric confusion_metric(const std::string& name, const Confusion& state, ConfusionRules rules,
                        const std::function<MetricBatch(const MetricBatch&)>& prepare,
                        const Tensor& result) {
  auto increments = [rules = std::move(rules), prepare](const MetricBatch& batch) {
    return confusion_of(elements_of(prepare ? prepare(batch) : batch, rules), rules);
  };
  return Metric(std::make_shared<const Metric::Definition>(Metric::Definition{
      name,
      false,
      {state.true_positives, state.false_positives, state.positives, state.negatives},
      std::move(increments),
      result}));
}

}  // namespace kiln::metrics
