// The line search of L-BFGS, spread over calls: each evaluates one trial step.
#include "runtime/train/lbfgs_state.h"

namespace kiln::optimizers {
namespace {

/// Losses that differ relatively by no more than this many epsilons count as equal.
constexpr double kLossNoise = 16;

Tensor has_started(const LbfgsState& state) { return state.best_loss < kInfinity; }

/// How a call ends, bool scalars.
struct Outcome {
  Tensor is_decrease;  // the trial step is not too long
  Tensor accepts;  // the trial point becomes the best one, and ends the line search
  Tensor restarts;  // the line search failed: the next one starts without history
  Tensor gives_up;  // it failed without history
};

/// The Armijo condition, or that of W. Hager and H. Zhang (2005, approximate Wolfe) where losses
/// are nearly equal: near a minimum their difference is noise of rounding, and only slopes tell
/// whether the loss decreases.
Tensor is_decrease(const LbfgsState& old, const Evaluation& at, const Tensor& slope, double c1) {
  const Tensor is_finite = abs(at.loss) < kInfinity && abs(slope) < kInfinity;
  const Tensor noise = kLossNoise * at.loss_epsilon * abs(old.best_loss);
  const Tensor is_lower = at.loss <= old.best_loss + c1 * old.trial * old.slope;
  const Tensor is_equal = at.loss <= old.best_loss + noise && slope <= (2 * c1 - 1) * old.slope;
  return is_finite && (is_lower || is_equal);
}

Outcome outcome_of(const LbfgsState& old, const Evaluation& at, const LbfgsSettings& settings) {
  // Before the first call the direction is 0 and the best loss infinite: a finite start is
  // accepted.
  const Tensor slope = inner_product(at.gradient, old.direction);
  Outcome outcome;
  outcome.is_decrease = is_decrease(old, at, slope, settings.c1);
  const Tensor is_active = !old.stopped;
  outcome.accepts = is_active && outcome.is_decrease && slope >= settings.c2 * old.slope;
  const Tensor is_last = old.trials + 1 >= settings.max_trials || !has_started(old);
  const Tensor fails = is_active && !outcome.accepts && is_last;
  outcome.restarts = fails && old.pairs > 0;
  outcome.gives_up = fails && !outcome.restarts;
  return outcome;
}

/// `rows` without the first one, with `row` as the last one.
Tensor pushed(const Tensor& rows, const Tensor& row) {
  return concatenate({rows.slice(1, {}), expand_dims(row, {.axis = 0})}, {.axis = 0});
}

/// `matrix` [m, m] without its first row and column, with `border` [m] as the last ones.
Tensor bordered(const Tensor& matrix, const Tensor& border, std::int64_t m) {
  const Tensor kept = slice(matrix, {1, 1}, {m - 1, m - 1});
  const Tensor column = expand_dims(border.slice(0, m - 1), {.axis = 1});
  const Tensor rows = concatenate({kept, column}, {.axis = 1});
  return concatenate({rows, expand_dims(border, {.axis = 0})}, {.axis = 0});
}

/// Sets the history of `next`.
void update_history(LbfgsState& next, const LbfgsState& old, const Evaluation& at,
                    const Outcome& outcome, std::int64_t history_size) {
  const Tensor step = at.point - old.point, change = at.gradient - old.gradient;
  // A pair at a right angle, up to rounding, would give H an arbitrary eigenvalue.
  const double epsilon = dtype(at.point) == "float64" ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon();
  const Tensor lengths = sqrt(inner_product(step, step) * inner_product(change, change));
  const Tensor is_curved = inner_product(step, change) > epsilon * lengths;
  const Tensor pushes = outcome.accepts && has_started(old) && is_curved;
  next.steps = where(pushes, pushed(old.steps, step), old.steps);
  next.changes = where(pushes, pushed(old.changes, change), old.changes);
  const auto updated = [&](const Tensor& matrix, const Tensor& rows) {
    return where(pushes, bordered(matrix, row_products(rows, change), history_size), matrix);
  };
  next.products = updated(old.products, next.steps);
  next.squares = updated(old.squares, next.changes);
  const Tensor count = where(pushes, minimum(old.pairs + 1, history_size), old.pairs);
  next.pairs = where(outcome.restarts, 0, count);
}

/// Sets the direction of `next`, and forgets its pairs if they give no descent.
void update_direction(LbfgsState& next, const LbfgsState& old, const Outcome& outcome) {
  const Tensor begins = outcome.accepts || outcome.restarts;
  const Tensor quasi_newton = quasi_newton_direction(next);
  const Tensor slope = inner_product(next.gradient, quasi_newton);
  const Tensor is_descent = slope < 0 && slope > -kInfinity;
  const Tensor direction = where(is_descent, quasi_newton, -next.gradient);
  const Tensor steepest = -inner_product(next.gradient, next.gradient);
  next.direction = where(begins, direction, old.direction);
  next.slope = where(begins, where(is_descent, slope, steepest), old.slope);
  next.pairs = where(begins && !is_descent, 0, next.pairs);
}

/// Sets the trial step of `next` and its bracket, by the bisection of A. Lewis and M. Overton.
void update_bracket(LbfgsState& next, const LbfgsState& old, const Outcome& outcome) {
  const Tensor begins = outcome.accepts || outcome.restarts;
  const Tensor size = sum(cast(abs(next.gradient), "float64"));
  const Tensor first = where(next.pairs > 0, 1, 1 / maximum(size, 1));
  const Tensor low = where(outcome.is_decrease, old.trial, old.low);
  const Tensor high = where(outcome.is_decrease, old.high, old.trial);
  const Tensor longer = where(low > 0, 2 * low, first);
  const Tensor trial = where(high < kInfinity, (low + high) / 2, longer);
  const auto updated = [&](const Tensor& start, const Tensor& value, const Tensor& unchanged) {
    return where(begins, start, where(old.stopped, unchanged, value));
  };
  const Tensor zero = constant(0, {.dtype = "float64"});
  next.trial = updated(first, trial, old.trial);
  next.low = updated(zero, low, old.low);
  next.high = updated(zero + kInfinity, high, old.high);
  next.trials = where(begins, 0, old.trials + cast(!old.stopped, "int64"));
}

}  // namespace

LbfgsState next_lbfgs_state(const LbfgsState& old, const Evaluation& at,
                            const LbfgsSettings& settings) {
  const Outcome outcome = outcome_of(old, at, settings);
  const Tensor accepts = outcome.accepts, steps = accepts && has_started(old);
  LbfgsState next;
  next.iterations = old.iterations + cast(steps, "int64");
  next.best_loss = where(accepts, at.loss, old.best_loss);
  next.point = where(accepts, at.point, old.point);
  next.gradient = where(accepts, at.gradient, old.gradient);
  update_history(next, old, at, outcome, settings.history_size);
  update_direction(next, old, outcome);
  update_bracket(next, old, outcome);
  const Tensor is_flat = max(abs(at.gradient)) <= settings.tolerance_grad;
  const Tensor is_still = max(abs(at.point - old.point)) <= settings.tolerance_change;
  next.converged = old.converged || (accepts && is_flat);
  next.stopped = old.stopped || next.converged || (steps && is_still) || outcome.gives_up;
  return next;
}

Tensor next_lbfgs_point(const LbfgsState& old, const LbfgsState& next, const Evaluation& at) {
  const Tensor best = where(has_started(next), next.point, at.point);
  const Tensor moved = next.point + cast(next.trial, dtype(next.point)) * next.direction;
  return where(old.stopped, at.point, where(next.stopped, best, moved));
}

}  // namespace kiln::optimizers
