// The state of L-BFGS and the functions that advance it.
#pragma once

#include <kiln/k.h>
#include <kiln/lbfgs.h>

#include "runtime/train/optimizer_checks.h"

#include <limits>
#include <string>
#include <vector>

namespace kiln::optimizers {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Options with their types of numbers.
struct LbfgsSettings {
  std::int64_t history_size;
  double tolerance_grad, tolerance_change;
  double c1, c2;
  std::int64_t max_trials;
  std::string name;
};

/// A loss and its gradients at a point, all weights flattened to one vector of n elements.
struct Evaluation {
  Tensor point, gradient;  // float32[n] or float64[n]
  Tensor loss;  // float64
  double loss_epsilon;  // of the dtype that the loss was computed in
};

/// The state: variables, or their next values. A line search starts at the best point and tries
/// steps along a direction; its end is the next best point.
struct LbfgsState {
  Tensor iterations;  // best points after the first, int64
  Tensor converged, stopped;  // bool
  Tensor best_loss;  // float64, as all numbers of the line search; infinity before the first call
  Tensor slope;  // the derivative of the loss along the direction, at the best point
  Tensor trial, low, high;  // the present step, too short and too long ones; none: 0 and infinity
  Tensor trials;  // of this line search before the present one, int64
  Tensor pairs;  // of the history, int64
  // The variables below exist from build() on.
  Tensor point = {}, gradient = {};  // [n], of the best point
  Tensor direction = {};  // [n]
  // The history, newest last: differences of points and of gradients, [history_size, n], and their
  // inner products, float64[history_size, history_size]. The first rows are unused if there are
  // fewer pairs.
  Tensor steps = {}, changes = {};
  Tensor products = {};  // steps[i] * changes[j] for i <= j; symmetric
  Tensor squares = {};  // changes[i] * changes[j]

  /// All that exist, in the order of declaration.
  std::vector<Tensor> all() const;
};

/// Creates the variables that no weight determines.
LbfgsState create_lbfgs_scalars(const std::string& name);
/// Creates the other variables, for weights with n elements in total.
void create_lbfgs_vectors(LbfgsState& state, const LbfgsSettings& settings, std::int64_t n,
                          const std::string& dtype);
/// Sets all variables to their initial values.
void reset_lbfgs(const LbfgsState& state);

/// Returns the state after a call that evaluated loss and gradients at old.point + old.trial *
/// old.direction, or for the first call anywhere.
LbfgsState next_lbfgs_state(const LbfgsState& old, const Evaluation& at,
                            const LbfgsSettings& settings);
/// Returns the point that the next call evaluates, [n].
Tensor next_lbfgs_point(const LbfgsState& old, const LbfgsState& next, const Evaluation& at);

/// Returns the inner product of two vectors, summed in float64.
Tensor inner_product(const Tensor& x, const Tensor& y);
/// Returns the inner products of each row of `rows` with x, summed in float64.
Tensor row_products(const Tensor& rows, const Tensor& x);
/// Returns -H * state.gradient for the inverse Hessian H that the history approximates; without
/// pairs H is 1. Reads no other part of the state.
Tensor quasi_newton_direction(const LbfgsState& state);

}  // namespace kiln::optimizers
