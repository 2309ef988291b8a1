// Regularizers of variables. Values are floating point; the result is a scalar of their dtype, to
// be added to the loss. float16 and bfloat16 are computed in float32 and rounded once. Formulas:
// Keras 3.5, keras/src/regularizers/regularizers.py.
#pragma once

#include <kiln/regularizer.h>

namespace kiln::regularizers {

struct L1Options {
  double l1 = 0.01;
};
struct L2Options {
  double l2 = 0.01;
};
struct L1L2Options {
  double l1 = 0;
  double l2 = 0;
};
struct OrthogonalOptions {
  double factor = 0.01;
  StringArgument mode = "rows";  ///< the vectors of the matrix: "rows" or "columns"
};

/// Returns the regularizer l1 * sum(|w|). Errors: ValueError unless l1 is finite and not negative.
///     K::eval(K::regularizers::L1({.l1 = 0.5})(K::constant({1., -3.})));  // 2.0
[[nodiscard]] KILN_API Regularizer L1(const L1Options& options = {}, Where where = Where::here());
/// Returns the regularizer l2 * sum(w^2). Errors: ValueError unless l2 is finite and not negative.
///     K::eval(K::regularizers::L2({.l2 = 0.5})(K::constant({1., -3.})));  // 5.0
[[nodiscard]] KILN_API Regularizer L2(const L2Options& options = {}, Where where = Where::here());
/// Returns the regularizer l1 * sum(|w|) + l2 * sum(w^2).
/// Errors: ValueError unless both are finite and not negative.
///     K::eval(K::regularizers::L1L2({.l1 = 1, .l2 = 0.5})(K::constant({1., -3.})));  // 9.0
[[nodiscard]] KILN_API Regularizer L1L2(const L1L2Options& options = {},
                                        Where where = Where::here());
/// Returns the regularizer of a matrix that is `factor` times the mean of |u v| over the pairs of
/// its rows (or columns), scaled to the norm 1. 0 / 0, NaN, for fewer than two vectors.
/// Errors: ValueError unless factor is finite and not negative, and for another mode; the
/// regularizer's: ValueError for a rank other than 2 and an unknown number of vectors.
///     const auto w = K::constant({{2., 0.}, {3., 0.}});
///     K::eval(K::regularizers::OrthogonalRegularizer({.factor = 0.5})(w));  // 0.5
[[nodiscard]] KILN_API Regularizer OrthogonalRegularizer(const OrthogonalOptions& options = {},
                                                         Where where = Where::here());

}  // namespace kiln::regularizers
