// Metrics that are means over samples: accuracies and errors. Formulas: Keras 3.5,
// keras/src/metrics/accuracy_metrics.py and regression_metrics.py.
#include <kiln/k.h>
#include <kiln/metrics.h>

#include "core/types/text.h"
#include "runtime/train/metric_definition.h"

namespace kiln::metrics {
namespace {

/// Removes the last axis of classes (..., 1) beside predictions of the same rank.
Tensor classes_of(const Tensor& y_true, const Tensor& y_pred) {
  constexpr const char* kAxes = "; class numbers have one axis less, or a last one of size 1";
  Tensor classes = y_true;
  if (ndim(y_true) + 1 != ndim(y_pred)) {
    const bool has_extra_axis =
        ndim(y_true) == ndim(y_pred) && ndim(y_true) > 0 && int_shape(y_true).back() == 1;
    if (!has_extra_axis) reject_shapes(y_true, y_pred, kAxes);
    classes = squeeze(y_true, -1);
  }
  const Tensor found = argmax(y_pred);
  if (!may_agree(classes, found)) reject_shapes(y_true, y_pred, kAxes);
  return of_equal_shape(classes, found);
}

/// The classes with the largest elements of one-hot labels.
Tensor one_hot_classes(Tensor y_true, Tensor y_pred) {
  match_shapes(y_true, y_pred);
  return argmax(y_true);
}

/// Whether the class is the largest prediction. Compares in float64: Keras casts classes to the
/// dtype of y_pred, in which neighbouring large ones may be equal.
Tensor is_largest(const Tensor& classes, const Tensor& y_pred) {
  return as_double(classes) == as_double(argmax(y_pred));
}

/// Whether the class is among the k largest predictions, in the shape of `classes`. REQUIRES: a
/// known number of classes, unless y_pred has rank 2.
Tensor is_in_top_k(const Tensor& classes, const Tensor& y_pred, WholeNumber k) {
  const Tensor targets = cast(classes, DType::Int64);
  if (ndim(targets) == 1) return in_top_k(y_pred, targets, k);
  const Tensor rows = reshape(y_pred, {-1, int_shape(y_pred).back()});
  return reshape(in_top_k(rows, reshape(targets, {-1}), k), shape(targets));
}

void require_k(const char* function, WholeNumber k, Where where) {
  if (k < 1) throw ValueError(function, "k", text("k ", k, " is below 1"), where);
}

/// y_pred - y_true as float64, per sample.
Tensor difference(Tensor y_true, Tensor y_pred) {
  match_shapes(y_true, y_pred);
  return as_double(y_pred) - as_double(y_true);
}

}  // namespace

Metric Accuracy(const MetricOptions& options, Where where) {
  return named_call("Accuracy", where, [&] {
    return mean_of(name_or(options.name, "accuracy"), [](Tensor y_true, Tensor y_pred) {
      match_shapes(y_true, y_pred);
      return cast(y_true, dtype(y_pred)) == y_pred;
    });
  });
}

Metric BinaryAccuracy(const BinaryAccuracyOptions& options, Where where) {
  return named_call("BinaryAccuracy", where, [&] {
    const double threshold = options.threshold;
    return mean_of(name_or(options.name, "binary_accuracy"), [=](Tensor y_true, Tensor y_pred) {
      match_shapes(y_true, y_pred);
      return as_double(y_true) == as_double(as_floating(y_pred) > threshold);
    });
  });
}

Metric CategoricalAccuracy(const MetricOptions& options, Where where) {
  return named_call("CategoricalAccuracy", where, [&] {
    return mean_of(name_or(options.name, "categorical_accuracy"),
                   [](const Tensor& y_true, const Tensor& y_pred) {
                     return one_hot_classes(y_true, y_pred) == argmax(y_pred);
                   });
  });
}

Metric SparseCategoricalAccuracy(const MetricOptions& options, Where where) {
  return named_call("SparseCategoricalAccuracy", where, [&] {
    return mean_of(name_or(options.name, "sparse_categorical_accuracy"),
                   [](const Tensor& y_true, const Tensor& y_pred) {
                     return is_largest(classes_of(y_true, y_pred), y_pred);
                   });
  });
}

Metric TopKCategoricalAccuracy(const TopKOptions& options, Where where) {
  return named_call("TopKCategoricalAccuracy", where, [&] {
    require_k("TopKCategoricalAccuracy", options.k, where);
    return mean_of(name_or(options.name, "top_k_categorical_accuracy"),
                   [k = options.k](const Tensor& y_true, const Tensor& y_pred) {
                     return is_in_top_k(one_hot_classes(y_true, y_pred), y_pred, k);
                   });
  });
}

Metric SparseTopKCategoricalAccuracy(const TopKOptions& options, Where where) {
  return named_call("SparseTopKCategoricalAccuracy", where, [&] {
    require_k("SparseTopKCategoricalAccuracy", options.k, where);
    return mean_of(name_or(options.name, "sparse_top_k_categorical_accuracy"),
                   [k = options.k](const Tensor& y_true, const Tensor& y_pred) {
                     return is_in_top_k(classes_of(y_true, y_pred), y_pred, k);
                   });
  });
}

Metric MeanSquaredError(const MetricOptions& options, Where where) {
  return named_call("MeanSquaredError", where, [&] {
    return mean_of(name_or(options.name, "mean_squared_error"),
                   [](const Tensor& y_true, const Tensor& y_pred) {
                     return square(difference(y_true, y_pred));
                   });
  });
}

Metric MeanAbsoluteError(const MetricOptions& options, Where where) {
  return named_call("MeanAbsoluteError", where, [&] {
    return mean_of(
        name_or(options.name, "mean_absolute_error"),
        [](const Tensor& y_true, const Tensor& y_pred) { return abs(difference(y_true, y_pred)); });
  });
}

Metric RootMeanSquaredError(const MetricOptions& options, Where where) {
  return named_call("RootMeanSquaredError", where, [&] {
    return mean_of(
        name_or(options.name, "root_mean_squared_error"),
        [](const Tensor& y_true, const Tensor& y_pred) {
          return square(difference(y_true, y_pred));
        },
        [](const Tensor& mean_square) { return sqrt(mean_square); });
  });
}

}  // namespace kiln::metrics
