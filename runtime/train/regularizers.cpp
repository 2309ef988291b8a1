// Regularizers of variables.
#include <kiln/initializers.h>
#include <kiln/k.h>
#include <kiln/regularizers.h>

#include "core/types/text.h"
#include "runtime/train/at_call.h"
#include "runtime/train/widened.h"

#include <cmath>

namespace kiln::regularizers {
namespace {

void require_factor(const char* function, const char* argument, double value, Where where) {
  if (std::isfinite(value) && value >= 0) return;
  throw ValueError(function, argument, text(argument, " ", value, " is negative or not finite"),
                   where);
}

/// fn(w) with widened() values, rounded to the dtype of w.
template <class Fn>
Tensor in_wide(const Tensor& w, const Fn& fn) {
  return cast(fn(widened(w)), dtype(w));
}

Tensor orthogonality(const Tensor& w, double factor, bool is_rows) {
  if (ndim(w) != 2) {
    throw ValueError("OrthogonalRegularizer", "w",
                     text("a variable of rank 2 is required, not ", w));
  }
  const Tensor rows = l2_normalize(is_rows ? w : transpose(w), {.axis = 1});
  const std::optional<std::int64_t> count = int_shape(rows)[0];
  if (!count) throw ValueError("OrthogonalRegularizer", "w", text("a size of ", w, " is unknown"));
  const Tensor itself = constant(initializers::Identity()({*count, *count}), {.dtype = dtype(w)});
  const Tensor of_others = dot(rows, transpose(rows)) * (1 - itself);
  const double n = static_cast<double>(*count), pairs = n * (n - 1) / 2;
  return factor * 0.5 * sum(abs(of_others)) / pairs;
}

}  // namespace

Regularizer L1(const L1Options& options, Where where) {
  return named_call("L1", where, [&]() -> Regularizer {
    require_factor("L1", "l1", options.l1, where);
    return named_function("L1", where, [l1 = options.l1](const Tensor& w) {
      return in_wide(w, [&](const Tensor& x) { return l1 * sum(abs(x)); });
    });
  });
}

Regularizer L2(const L2Options& options, Where where) {
  return named_call("L2", where, [&]() -> Regularizer {
    require_factor("L2", "l2", options.l2, where);
    return named_function("L2", where, [l2 = options.l2](const Tensor& w) {
      return in_wide(w, [&](const Tensor& x) { return l2 * sum(square(x)); });
    });
  });
}

Regularizer L1L2(const L1L2Options& options, Where where) {
  return named_call("L1L2", where, [&]() -> Regularizer {
    require_factor("L1L2", "l1", options.l1, where);
    require_factor("L1L2", "l2", options.l2, where);
    return named_function("L1L2", where, [options](const Tensor& w) {
      return in_wide(w, [&](const Tensor& x) {
        return options.l1 * sum(abs(x)) + options.l2 * sum(square(x));
      });
    });
  });
}

Regularizer OrthogonalRegularizer(const OrthogonalOptions& options, Where where) {
  return named_call("OrthogonalRegularizer", where, [&]() -> Regularizer {
    require_factor("OrthogonalRegularizer", "factor", options.factor, where);
    const bool is_rows = options.mode == "rows";
    if (!is_rows && options.mode != "columns") {
      throw ValueError("OrthogonalRegularizer", "mode",
                       text("unknown mode '", options.mode, "': expected rows or columns"), where);
    }
    return named_function(
        "OrthogonalRegularizer", where, [factor = options.factor, is_rows](const Tensor& w) {
          return in_wide(w, [&](const Tensor& x) { return orthogonality(x, factor, is_rows); });
        });
  });
}

}  // namespace kiln::regularizers
