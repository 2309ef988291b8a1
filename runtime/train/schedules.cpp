// Schedules of learning rates along powers, quotients and steps.
#include <kiln/k.h>
#include <kiln/schedules.h>

#include "runtime/train/at_call.h"
#include "runtime/train/schedule_checks.h"

#include <algorithm>

namespace kiln::schedules {
namespace {

/// step / decay_steps, with `staircase` rounded down.
Tensor progress(const Tensor& step, std::int64_t decay_steps, bool staircase) {
  const Tensor p = cast(step, floatx()) / decay_steps;
  return staircase ? floor(p) : p;
}

void require_decay(const Checks& checks, double initial, std::int64_t steps, double rate) {
  checks.not_negative(initial, "initial_learning_rate");
  checks.positive(steps, "decay_steps");
  checks.not_negative(rate, "decay_rate");
}

/// How many times decay_steps it takes to reach the step, at least once. x: step / decay_steps.
Tensor cycles(const Tensor& x) { return maximum(ceil(x), 1); }

/// 1 where low < step <= high, else 0; without a bound on a side where it is null.
Tensor is_within(const Tensor& step, const std::int64_t* low, const std::int64_t* high) {
  if (low == nullptr) return cast(step <= *high, floatx());
  if (high == nullptr) return cast(step > *low, floatx());
  return cast(step > *low, floatx()) * cast(step <= *high, floatx());
}

}  // namespace

Schedule ExponentialDecay(double initial_learning_rate, WholeNumber decay_steps, double decay_rate,
                          const StaircaseOptions& options, Where where) {
  return named_call("ExponentialDecay", where, [&]() -> Schedule {
    require_decay({"ExponentialDecay", where}, initial_learning_rate, decay_steps, decay_rate);
    return named_function("ExponentialDecay", where, [=](const Tensor& step) {
      return initial_learning_rate *
             pow(decay_rate, progress(step, decay_steps, options.staircase));
    });
  });
}

Schedule InverseTimeDecay(double initial_learning_rate, WholeNumber decay_steps, double decay_rate,
                          const StaircaseOptions& options, Where where) {
  return named_call("InverseTimeDecay", where, [&]() -> Schedule {
    require_decay({"InverseTimeDecay", where}, initial_learning_rate, decay_steps, decay_rate);
    return named_function("InverseTimeDecay", where, [=](const Tensor& step) {
      return initial_learning_rate /
             (1 + decay_rate * progress(step, decay_steps, options.staircase));
    });
  });
}

Schedule PolynomialDecay(double initial_learning_rate, WholeNumber decay_steps,
                         const PolynomialDecayOptions& options, Where where) {
  return named_call("PolynomialDecay", where, [&]() -> Schedule {
    const Checks checks{"PolynomialDecay", where};
    checks.not_negative(initial_learning_rate, "initial_learning_rate");
    checks.positive(decay_steps, "decay_steps");
    checks.not_negative(options.end_learning_rate, "end_learning_rate");
    checks.not_negative(options.power, "power");
    return named_function("PolynomialDecay", where, [=](const Tensor& step) {
      const double end = options.end_learning_rate;
      const Tensor all = progress(step, decay_steps, false);
      const Tensor p = options.cycle ? all / cycles(all) : minimum(all, 1);
      return (initial_learning_rate - end) * pow(1 - p, options.power) + end;
    });
  });
}

Schedule PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries,
                                const std::vector<double>& values, Where where) {
  return named_call("PiecewiseConstantDecay", where, [&]() -> Schedule {
    const Checks checks{"PiecewiseConstantDecay", where};
    if (values.size() != boundaries.size() + 1 || boundaries.empty()) {
      throw ValueError(checks.function, "values",
                       text("there are ", values.size(), " values for ", boundaries.size(),
                            " boundaries, not one more"),
                       where);
    }
    for (const double value : values) checks.not_negative(value, "values");
    const auto fall = std::adjacent_find(boundaries.begin(), boundaries.end(),
                                         [](auto low, auto high) { return low >= high; });
    if (fall != boundaries.end()) {
      throw ValueError(
          checks.function, "boundaries",
          text("boundaries ", fall[0], " and ", fall[1], " are not in ascending order"), where);
    }
    return named_function("PiecewiseConstantDecay", where, [=](const Tensor& step) {
      const std::int64_t* const b = boundaries.data();
      const std::size_t last = boundaries.size();
      Tensor rate = values[0] * is_within(step, nullptr, &b[0]);
      for (std::size_t i = 1; i < last; ++i) {
        rate = rate + values[i] * is_within(step, &b[i - 1], &b[i]);
      }
      return rate + values[last] * is_within(step, &b[last - 1], nullptr);
    });
  });
}

}  // namespace kiln::schedules
