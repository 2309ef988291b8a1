// Schedules of learning rates: each function returns a function of the number of steps done, in
// floatx(). Pass one as `.learning_rate` of an optimiser. Formulas: Keras 3.5,
// keras/src/optimizers/schedules/learning_rate_schedule.py.
#pragma once

#include <kiln/learning_rate.h>

#include <optional>
#include <vector>

namespace kiln::schedules {

struct StaircaseOptions {
  Flag staircase = false;  ///< change only after each decay_steps steps
};
struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1;
  Flag cycle = false;  ///< decay again over 2, 3, ... times decay_steps, not once
};
struct CosineDecayOptions {
  double alpha = 0;  ///< the last rate as a part of the first one
  std::optional<double> warmup_target = {};  ///< the rate after warmup_steps, where decay begins
  WholeNumber warmup_steps = 0;              ///< ignored without warmup_target
};
struct CosineDecayRestartsOptions {
  double t_mul = 2;  ///< each period is so many times as long as the one before
  double m_mul = 1;  ///< and begins with so many times its first rate
  double alpha = 0;  ///< the last rate of a period as a part of initial_learning_rate
};

/// Returns initial_learning_rate * decay_rate^(step / decay_steps).
/// Errors: ValueError for a negative or not finite rate, or a decay_steps that is not positive.
///     const auto rate = K::schedules::ExponentialDecay(0.5, 10, 0.25);
///     K::eval(rate(K::constant(5)));  // 0.25
[[nodiscard]] KILN_API Schedule ExponentialDecay(double initial_learning_rate,
                                                 WholeNumber decay_steps, double decay_rate,
                                                 const StaircaseOptions& options = {},
                                                 Where where = Where::here());
/// Returns values[i] for the steps up to boundaries[i] that no smaller boundary includes, and the
/// last value for all later steps. Errors: ValueError unless boundaries are in ascending order and
/// one fewer than values; for a negative or not finite value.
///     const auto rate = K::schedules::PiecewiseConstantDecay({100, 200}, {1, 0.5, 0.25});
///     K::eval(K::stack({rate(K::constant(100)), rate(K::constant(101))}));  // [1. 0.5]
[[nodiscard]] KILN_API Schedule PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries,
                                                       const std::vector<double>& values,
                                                       Where where = Where::here());
/// Returns (initial - end) * (1 - step / decay_steps)^power + end; later than decay_steps, end, or
/// with `cycle` the same for decay_steps times the smallest factor that reaches the step.
/// Errors: ValueError for a negative or not finite rate or power, or a decay_steps that is not
/// positive.
///     const auto rate = K::schedules::PolynomialDecay(1, 4, {.end_learning_rate = 0});
///     K::eval(K::stack({rate(K::constant(1)), rate(K::constant(9))}));  // [0.75 0. ]
[[nodiscard]] KILN_API Schedule PolynomialDecay(double initial_learning_rate,
                                                WholeNumber decay_steps,
                                                const PolynomialDecayOptions& options = {},
                                                Where where = Where::here());
/// Returns initial_learning_rate / (1 + decay_rate * step / decay_steps).
/// Errors: as for ExponentialDecay.
///     const auto rate = K::schedules::InverseTimeDecay(1, 10, 0.5);
///     K::eval(rate(K::constant(20)));  // 0.5
[[nodiscard]] KILN_API Schedule InverseTimeDecay(double initial_learning_rate,
                                                 WholeNumber decay_steps, double decay_rate,
                                                 const StaircaseOptions& options = {},
                                                 Where where = Where::here());
/// Returns the rate along half a cosine over decay_steps, from initial_learning_rate down to alpha
/// times it. With warmup_target it first rises linearly to this rate, and falls from it
/// (I. Loshchilov and F. Hutter, 2017). Errors: ValueError for a negative or not finite rate, an
/// alpha outside [0, 1], a decay_steps that is not positive or a negative warmup_steps.
///     const auto rate = K::schedules::CosineDecay(1, 10, {.alpha = 0.5});
///     K::eval(K::stack({rate(K::constant(0)), rate(K::constant(10))}));  // [1. 0.5]
[[nodiscard]] KILN_API Schedule CosineDecay(double initial_learning_rate, WholeNumber decay_steps,
                                            const CosineDecayOptions& options = {},
                                            Where where = Where::here());
/// Returns the rate along half a cosine that begins again after first_decay_steps, then after t_mul
/// times as many, and so on (I. Loshchilov and F. Hutter, 2017). The step of a restart counts to
/// the new period, also where the logarithm in Keras' formula is rounded down.
/// Errors: ValueError for a negative or not finite rate or m_mul, a t_mul below 1 or not finite, an
/// alpha outside [0, 1] or a first_decay_steps that is not positive.
///     const auto rate = K::schedules::CosineDecayRestarts(1, 10, {.m_mul = 0.5});
///     K::eval(K::stack({rate(K::constant(0)), rate(K::constant(10))}));  // [1. 0.5]
[[nodiscard]] KILN_API Schedule CosineDecayRestarts(double initial_learning_rate,
                                                    WholeNumber first_decay_steps,
                                                    const CosineDecayRestartsOptions& options = {},
                                                    Where where = Where::here());

}  // namespace kiln::schedules
