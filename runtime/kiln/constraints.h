// Constraints of variables: functions of the new value that an optimiser computes, whose result it
// assigns. Pass one as `.constraint` of a variable. Values are floating point; a norm is that of
// each vector along `axis`: 0 for the (inputs, units) kernel of a dense layer, {0, 1, 2} for a
// convolution's. float16 and bfloat16 are computed in float32 and rounded once. Errors of the
// constraints: TypeError for another dtype (NonNeg takes integers, too); ValueError for an axis out
// of range. Formulas: Keras 3.5, keras/src/constraints/constraints.py.
#pragma once

#include <kiln/constraint.h>

namespace kiln::constraints {

struct MaxNormOptions {
  double max_value = 2;
  Axes axis = 0;
};
struct UnitNormOptions {
  Axes axis = 0;
};
struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;  ///< the part of the way to the bounds that a norm outside moves; 1: all of it
  Axes axis = 0;
};

/// Returns a constraint that scales vectors with a norm above max_value down to it.
/// Errors: ValueError unless max_value is finite and not negative.
///     const auto w = K::constraints::MaxNorm({.max_value = 1})(K::constant({3., 4.}));
///     K::eval(K::sum(w) < 1.41f);  // True
[[nodiscard]] KILN_API Constraint MaxNorm(const MaxNormOptions& options = {},
                                          Where where = Where::here());
/// Returns a constraint that multiplies elements below 0 by 0. NaN stays NaN.
///     const auto w = K::constraints::NonNeg()(K::constant({-1., 2.}));
///     K::eval(w);  // [-0. 2.]
[[nodiscard]] KILN_API Constraint NonNeg(Where where = Where::here());
/// Returns a constraint that scales each vector to the norm 1.
///     const auto w = K::constraints::UnitNorm()(K::constant({0.5, 0.}));
///     K::eval(w > 0.99f);  // [ True False]
[[nodiscard]] KILN_API Constraint UnitNorm(const UnitNormOptions& options = {},
                                           Where where = Where::here());
/// Returns a constraint that moves norms outside [min_value, max_value] towards these bounds.
/// Errors: ValueError unless 0 <= min_value <= max_value, both are finite, and 0 <= rate <= 1.
///     const auto clamp = K::constraints::MinMaxNorm({.min_value = 1, .max_value = 2});
///     K::eval(clamp(K::constant({0.5, 0.})) > 0.99f);  // [ True False]
[[nodiscard]] KILN_API Constraint MinMaxNorm(const MinMaxNormOptions& options = {},
                                             Where where = Where::here());

}  // namespace kiln::constraints
