// Constraints of variables.
#include <kiln/constraints.h>
#include <kiln/k.h>

#include "core/types/text.h"
#include "runtime/train/at_call.h"
#include "runtime/train/widened.h"

#include <cmath>

namespace kiln::constraints {
namespace {

bool is_bound(double value) { return std::isfinite(value) && value >= 0; }

/// The norm of each vector along `axis`, with these axes of size 1, of widened() values.
Tensor norms_of(const Tensor& w, const Axes& axis) {
  return sqrt(sum(square(widened(w)), {.axis = axis, .keepdims = true}));
}

/// Scales each vector by its factor, and rounds to the dtype of w.
Tensor scaled(const Tensor& w, const Tensor& factors) {
  return cast(widened(w) * factors, dtype(w));
}

}  // namespace

Constraint MaxNorm(const MaxNormOptions& options, Where where) {
  return named_call("MaxNorm", where, [&]() -> Constraint {
    if (!is_bound(options.max_value)) {
      throw ValueError("MaxNorm", "max_value",
                       text("max_value ", options.max_value, " is negative or not finite"), where);
    }
    return named_function("MaxNorm", where, [options](const Tensor& w) {
      const Tensor norms = norms_of(w, options.axis);
      return scaled(w, clip(norms, 0, options.max_value) / (epsilon() + norms));
    });
  });
}

Constraint NonNeg(Where where) {
  return named_call("NonNeg", where, [&]() -> Constraint {
    return named_function("NonNeg", where,
                          [](const Tensor& w) { return w * cast(w >= 0, dtype(w)); });
  });
}

Constraint UnitNorm(const UnitNormOptions& options, Where where) {
  return named_call("UnitNorm", where, [&]() -> Constraint {
    return named_function("UnitNorm", where, [options](const Tensor& w) {
      return cast(widened(w) / (epsilon() + norms_of(w, options.axis)), dtype(w));
    });
  });
}

Constraint MinMaxNorm(const MinMaxNormOptions& options, Where where) {
  return named_call("MinMaxNorm", where, [&]() -> Constraint {
    if (!(is_bound(options.min_value) && is_bound(options.max_value) &&
          options.min_value <= options.max_value)) {
      throw ValueError("MinMaxNorm", "min_value",
                       text("min_value ", options.min_value, " and max_value ", options.max_value,
                            " are not in order, negative or not finite"),
                       where);
    }
    if (!(options.rate >= 0 && options.rate <= 1)) {
      throw ValueError("MinMaxNorm", "rate", text("rate ", options.rate, " is outside [0, 1]"),
                       where);
    }
    return named_function("MinMaxNorm", where, [options](const Tensor& w) {
      const Tensor norms = norms_of(w, options.axis);
      const Tensor wanted = options.rate * clip(norms, options.min_value, options.max_value) +
                            (1 - options.rate) * norms;
      return scaled(w, wanted / (epsilon() + norms));
    });
  });
}

}  // namespace kiln::constraints
