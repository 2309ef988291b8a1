// Schedules of learning rates along cosines.
#include <kiln/k.h>
#include <kiln/schedules.h>

#include "runtime/train/at_call.h"
#include "runtime/train/schedule_checks.h"

#include <numbers>

namespace kiln::schedules {
namespace {

/// (1 + cos(pi * fraction)) / 2: 1 for fraction 0, 0 for 1.
Tensor half_cosine(const Tensor& fraction) { return 0.5 * (1 + cos(std::numbers::pi * fraction)); }

/// Period and position within it, in [0, 1). Both in units of the first period.
struct Period {
  Tensor number;
  Tensor fraction;
};

Period in_period(const Tensor& x, const Tensor& number, double t_mul) {
  const Tensor length = pow(t_mul, number), begin = (1 - length) / (1 - t_mul);
  return {number, (x - begin) / length};
}

/// The period of x, the step in units of the first period; each is t_mul times as long as the one
/// before.
Period period_of(const Tensor& x, double t_mul) {
  if (t_mul == 1) return {floor(x), x - floor(x)};
  const Tensor number = floor(log(1 - x * (1 - t_mul)) / std::log(t_mul));
  // The logarithm may round to the other side of the beginning of a period.
  const Tensor fraction = in_period(x, number, t_mul).fraction;
  const Tensor late = cast(fraction >= 1, dtype(x)), early = cast(fraction < 0, dtype(x));
  return in_period(x, number + late - early, t_mul);
}

}  // namespace

Schedule CosineDecay(double initial_learning_rate, WholeNumber decay_steps,
                     const CosineDecayOptions& options, Where where) {
  return named_call("CosineDecay", where, [&]() -> Schedule {
    const Checks checks{"CosineDecay", where};
    checks.not_negative(initial_learning_rate, "initial_learning_rate");
    checks.positive(decay_steps, "decay_steps");
    checks.in_unit_interval(options.alpha, "alpha");
    checks.not_negative(options.warmup_target.value_or(0), "warmup_target");
    checks.not_negative(static_cast<double>(options.warmup_steps), "warmup_steps");
    const std::int64_t length = decay_steps;
    const std::int64_t warmup = options.warmup_target ? std::int64_t{options.warmup_steps} : 0;
    return named_function("CosineDecay", where, [=](const Tensor& step) -> Tensor {
      const double top = options.warmup_target.value_or(initial_learning_rate);
      const Tensor done = cast(step, floatx());
      const Tensor fraction = clip((done - warmup) / length, 0, 1);
      const Tensor decayed = top * ((1 - options.alpha) * half_cosine(fraction) + options.alpha);
      if (warmup == 0) return decayed;
      const Tensor risen = (top - initial_learning_rate) * (done / warmup) + initial_learning_rate;
      const Tensor rises = cast(done < warmup, floatx());
      return rises * risen + (1 - rises) * decayed;
    });
  });
}

Schedule CosineDecayRestarts(double initial_learning_rate, WholeNumber first_decay_steps,
                             const CosineDecayRestartsOptions& options, Where where) {
  return named_call("CosineDecayRestarts", where, [&]() -> Schedule {
    const Checks checks{"CosineDecayRestarts", where};
    checks.not_negative(initial_learning_rate, "initial_learning_rate");
    checks.positive(first_decay_steps, "first_decay_steps");
    checks.not_negative(options.t_mul, "t_mul");
    if (options.t_mul < 1) checks.fail("t_mul", options.t_mul, "is below 1");
    checks.not_negative(options.m_mul, "m_mul");
    checks.in_unit_interval(options.alpha, "alpha");
    return named_function("CosineDecayRestarts", where, [=](const Tensor& step) {
      const Tensor x = cast(step, floatx()) / std::int64_t{first_decay_steps};
      const Period period = period_of(x, options.t_mul);
      const Tensor cosine = pow(options.m_mul, period.number) * half_cosine(period.fraction);
      return initial_learning_rate * ((1 - options.alpha) * cosine + options.alpha);
    });
  });
}

}  // namespace kiln::schedules
