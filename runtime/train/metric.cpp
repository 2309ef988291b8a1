// Metric, and means and sums over samples. Formulas: Keras 3.5, keras/src/metrics/metric.py and
// reduction_metrics.py.
#include <kiln/k.h>
#include <kiln/metrics.h>

#include "core/types/text.h"
#include "runtime/train/at_call.h"
#include "runtime/train/metric_definition.h"

#include <algorithm>

namespace kiln {
namespace metrics {
namespace {

using Reduction = Tensor (*)(const Operand& x, const AxisOptions& options);

std::vector<std::int64_t> axes_between(int first, int end) {
  std::vector<std::int64_t> axes;
  for (int axis = first; axis < end; ++axis) axes.push_back(axis);
  return axes;
}

Tensor reduce_axes(Reduction reduction, const Tensor& x, int first, int end) {
  if (first >= end) return x;
  return reduction(x, {.axis = axes_between(first, end)});
}

/// Values and weights, each reduced to one per sample; both scalars for scalar values. Weights are
/// empty for none.
struct Samples {
  Tensor values, weights;
};

/// Keras' reduce_to_samplewise_values; but a scalar weighs every sample, not the batch as one.
Samples samples_of(Tensor values, Tensor weight, Reduction reduction) {
  values = as_double(values);
  if (!is_given(weight)) return {reduce_axes(reduction, values, 1, ndim(values)), {}};
  if (ndim(weight) > 0) match_ranks(values, weight);
  const int rank = ndim(weight) == 0 ? ndim(values) : ndim(weight);
  if (rank > ndim(values)) reject_weights(weight, values);
  values = reduce_axes(reduction, values, rank, ndim(values));
  weight = weights_like(values, weight);
  return {reduce_axes(reduction, values * weight, 1, rank),
          reduce_axes(reduction, weight, 1, rank)};
}

}  // namespace

Tensor as_double(const Tensor& x) { return cast(x, DType::Float64); }

Tensor as_floating(const Tensor& x) {
  return dtype(x).find("float") == std::string::npos ? as_double(x) : x;
}

Tensor ratio(const Tensor& x, const Tensor& y) { return switch_(y != 0, x / y, zeros_like(x)); }

Variable zero_state(const std::string& metric, const char* variable,
                    std::vector<std::int64_t> dims) {
  return kiln::variable(Array::zeros(std::move(dims), DType::Float64),
                        {.dtype = DType::Float64, .name = metric + "/" + variable});
}

void match_ranks(Tensor& x, Tensor& y) {
  if (ndim(x) == ndim(y)) return;
  Tensor& higher = ndim(x) > ndim(y) ? x : y;
  Tensor& lower = ndim(x) > ndim(y) ? y : x;
  if (ndim(higher) != ndim(lower) + 1 || int_shape(higher).back() != 1) return;
  if (ndim(lower) == 1) {
    lower = expand_dims(lower);
  } else {
    higher = squeeze(higher, -1);
  }
}

bool may_agree(const Tensor& x, const Tensor& y) {
  const auto sizes = int_shape(x), others = int_shape(y);
  return std::equal(
      sizes.begin(), sizes.end(), others.begin(), others.end(),
      [](const auto& size, const auto& other) { return !size || !other || *size == *other; });
}

Tensor of_equal_shape(const Tensor& x, const Tensor& y) {
  const auto is_known = [](const auto& size) { return size.has_value(); };
  const auto sizes = int_shape(x), others = int_shape(y);
  if (std::ranges::all_of(sizes, is_known) && std::ranges::all_of(others, is_known)) return x;
  return squeeze(stack({x, cast(y, dtype(x))}).slice(0, 1), 0);
}

void reject_weights(const Tensor& weight, const Tensor& values) {
  throw ValueError("Metric::updates", "sample_weight",
                   text("sample_weight ", weight, " does not agree with the values ", values));
}

void reject_shapes(const Tensor& y_true, const Tensor& y_pred, const char* why) {
  throw ValueError("Metric::updates", "y_true",
                   text("y_true ", y_true, " does not agree with y_pred ", y_pred, why));
}

void match_shapes(Tensor& y_true, Tensor& y_pred) {
  const Tensor given_true = y_true, given_pred = y_pred;
  match_ranks(y_true, y_pred);
  if (ndim(y_true) != ndim(y_pred)) {
    const bool are_classes = ndim(y_true) + 1 == ndim(y_pred);
    reject_shapes(given_true, given_pred,
                  are_classes ? "; class numbers need a Sparse metric or one_hot" : "");
  }
  if (may_agree(y_true, y_pred)) {
    y_true = of_equal_shape(y_true, y_pred);
  } else {
    reject_shapes(given_true, given_pred);
  }
}

Tensor weights_like(const Tensor& x, const Tensor& weight) {
  const auto sizes = int_shape(x), given = int_shape(weight);
  for (std::size_t axis = 0; axis < given.size(); ++axis) {
    const bool is_of_all = given[axis] == 1;
    if (is_of_all || !given[axis] || !sizes[axis] || given[axis] == sizes[axis]) continue;
    reject_weights(weight, x);
  }
  return of_equal_shape(as_double(weight) * as_double(ones_like(x)), x);
}

std::string name_or(const StringArgument& name, const char* otherwise) {
  return name.empty() ? otherwise : name.c_str();
}

Metric mean_of(const std::string& name, MetricFunction fn,
               const std::function<Tensor(const Tensor&)>& finish) {
  const Variable total = zero_state(name, "total"), count = zero_state(name, "count");
  const bool takes_values = !fn;
  auto increments = [fn = std::move(fn)](const MetricBatch& batch) -> std::vector<Tensor> {
    const Tensor values = fn ? fn(batch.y_true, batch.y_pred) : batch.y_pred;
    const Samples samples = samples_of(values, batch.sample_weight, &mean);
    const Tensor weights = is_given(samples.weights) ? samples.weights : ones_like(samples.values);
    return {sum(samples.values), sum(weights)};
  };
  const Tensor result = ratio(total, count);
  return Metric(std::make_shared<const Metric::Definition>(
      Metric::Definition{name,
                         takes_values,
                         {total, count},
                         std::move(increments),
                         finish ? finish(result) : result}));
}

Metric Mean(const MetricOptions& options, Where where) {
  return named_call("Mean", where, [&] { return mean_of(name_or(options.name, "mean"), {}); });
}

Metric Sum(const MetricOptions& options, Where where) {
  return named_call("Sum", where, [&] {
    const std::string name = name_or(options.name, "sum");
    const Variable total = zero_state(name, "total");
    auto increments = [](const MetricBatch& batch) -> std::vector<Tensor> {
      return {sum(samples_of(batch.y_pred, batch.sample_weight, &sum).values)};
    };
    return Metric(std::make_shared<const Metric::Definition>(
        Metric::Definition{name, true, {total}, std::move(increments), identity(total)}));
  });
}

Metric MeanMetricWrapper(MetricFunction fn, const MetricOptions& options, Where where) {
  return named_call("MeanMetricWrapper", where, [&] {
    if (!fn) throw ValueError("MeanMetricWrapper", "fn", "fn is an empty function", where);
    return mean_of(name_or(options.name, "mean_metric_wrapper"), std::move(fn));
  });
}

}  // namespace metrics

namespace {

std::vector<UpdateOp> updates_of(const Metric::Definition& metric, const MetricBatch& batch) {
  const std::vector<Tensor> increments = metric.increments(batch);
  std::vector<UpdateOp> updates;
  for (std::size_t i = 0; i < increments.size(); ++i) {
    updates.push_back(update_add(metric.variables[i], increments[i]));
  }
  return updates;
}

}  // namespace

std::vector<UpdateOp> join_updates(const std::vector<std::vector<UpdateOp>>& lists, Where where) {
  return named_call("join_updates", where, [&] {
    std::vector<UpdateOp> joined;
    for (const std::vector<UpdateOp>& list : lists) {
      joined.insert(joined.end(), list.begin(), list.end());
    }
    return joined;
  });
}

std::vector<UpdateOp> Metric::updates(const Tensor& y_true, const Tensor& y_pred,
                                      const SampleWeightOptions& options, Where where) const {
  return at_call("Metric::updates", where, [&] {
    if (definition_->takes_values) {
      throw ValueError("Metric::updates", "y_true",
                       text(name(), " takes values, not y_true and y_pred"), where);
    }
    return updates_of(*definition_, {y_true, y_pred, options.sample_weight});
  });
}

std::vector<UpdateOp> Metric::updates(const Tensor& values, const SampleWeightOptions& options,
                                      Where where) const {
  return at_call("Metric::updates", where, [&] {
    if (!definition_->takes_values) {
      throw ValueError("Metric::updates", "values",
                       text(name(), " takes y_true and y_pred, not values"), where);
    }
    return updates_of(*definition_, {{}, values, options.sample_weight});
  });
}

Tensor Metric::result() const { return definition_->result; }

double Metric::value(Where where) const {
  return named_call("Metric::value", where, [&] {
    if (ndim(definition_->result) != 0) {
      throw ValueError("Metric::value", "", text(name(), " is not a scalar: evaluate result()"),
                       where);
    }
    return eval(definition_->result).item<double>();
  });
}

void Metric::reset(Where where) const {
  named_call("Metric::reset", where, [&] {
    std::vector<std::pair<Tensor, Array>> zeros;
    for (const Variable& state : definition_->variables) zeros.emplace_back(state, Array(0.0));
    batch_set_value(zeros);
  });
}

const std::vector<Variable>& Metric::variables() const& { return definition_->variables; }
const std::string& Metric::name() const& { return definition_->name; }

}  // namespace kiln
