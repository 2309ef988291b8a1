// How a metric is computed: its state is a sum over batches, its result a function of the state.
#pragma once

#include <kiln/metrics.h>

#include <optional>

namespace kiln {

/// A batch as the metric got it. sample_weight is empty for none.
struct MetricBatch {
  Tensor y_true, y_pred;  // y_true is empty for a metric of values, which are y_pred
  Tensor sample_weight;
};

struct Metric::Definition {
  std::string name;
  bool takes_values;
  std::vector<Variable> variables;
  /// The summands that a batch adds to the variables.
  std::function<std::vector<Tensor>(const MetricBatch&)> increments;
  Tensor result;
};

namespace metrics {

/// Whether a Tensor is set.
inline bool is_given(const Tensor& x) { return is_tensor(x); }

/// Returns x as float64.
Tensor as_double(const Tensor& x);
/// Returns x, as float64 unless it is floating point.
Tensor as_floating(const Tensor& x);
/// Returns x / y, and 0 where y is 0.
Tensor ratio(const Tensor& x, const Tensor& y);
/// A float64 variable of zeros.
Variable zero_state(const std::string& metric, const char* variable,
                    std::vector<std::int64_t> dims = {});
/// Removes a last axis of size 1 of the higher rank where the ranks differ by one, or adds one to a
/// vector beside a (batch, 1) matrix, as Keras' squeeze_or_expand_to_same_rank.
void match_ranks(Tensor& x, Tensor& y);
/// Whether ranks and known sizes are equal.
bool may_agree(const Tensor& x, const Tensor& y);
/// Returns x. A call is rejected where it has another shape than y. REQUIRES: may_agree.
Tensor of_equal_shape(const Tensor& x, const Tensor& y);
/// Returns `weight` in the shape of x, along whose axes it has the same size or 1. ValueError where
/// sizes are known to differ; others are compared in the call.
Tensor weights_like(const Tensor& x, const Tensor& weight);
/// ValueError of Metric::updates: weights and values have shapes that do not agree.
[[noreturn]] void reject_weights(const Tensor& weight, const Tensor& values);
/// match_ranks of labels and predictions. ValueError unless ranks and known sizes then agree, and
/// in the call all sizes: broadcast class numbers would count samples as classes.
void match_shapes(Tensor& y_true, Tensor& y_pred);
/// ValueError of Metric::updates: labels and predictions have shapes that do not agree.
[[noreturn]] void reject_shapes(const Tensor& y_true, const Tensor& y_pred, const char* why = "");
/// Returns the mean over samples of fn; fn is empty for a metric of values. `finish`, if given, is
/// applied to the mean.
Metric mean_of(const std::string& name, MetricFunction fn,
               const std::function<Tensor(const Tensor&)>& finish = {});
/// Returns `name`, or `otherwise` if it is empty.
std::string name_or(const StringArgument& name, const char* otherwise);

}  // namespace metrics
}  // namespace kiln
