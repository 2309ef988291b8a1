// Adagrad and Adadelta.
#include "runtime/train/optimizer_rule.h"

#include <kiln/optimizers.h>

namespace kiln::optimizers {
namespace {

std::vector<Tensor> rate_alone(const StepScalars& scalars) { return {scalars.rate}; }

}  // namespace

Optimizer Adagrad(const AdagradOptions& options, Where where) {
  return named_call("Adagrad", where, [&] {
    const Call call{"Adagrad", where};
    require_not_negative(options.initial_accumulator_value, "initial_accumulator_value", call);
    require_not_negative(options.epsilon, "epsilon", call);
    Rule rule;
    rule.slots = {{"accumulator", options.initial_accumulator_value}};
    rule.factors = rate_alone;
    rule.step = [epsilon = options.epsilon](const WeightState& w,
                                            const std::vector<Tensor>& factors) -> NewWeightState {
      const Tensor squares = w.slots[0] + square(w.gradient);
      return {w.weight - factors[0] * w.gradient / sqrt(squares + epsilon), {squares}};
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

Optimizer Adadelta(const AdadeltaOptions& options, Where where) {
  return named_call("Adadelta", where, [&] {
    const Call call{"Adadelta", where};
    require_range(options.rho, 0, 1, true, "rho", call);
    require_not_negative(options.epsilon, "epsilon", call);
    const double rho = options.rho, epsilon = options.epsilon;
    Rule rule;
    rule.slots = {{"accumulated_grad"}, {"accumulated_delta_var"}};
    rule.factors = rate_alone;
    rule.step = [=](const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
      const Tensor &g = w.gradient, &deltas = w.slots[1];
      const Tensor squares = decayed_mean(w.slots[0], square(g), rho);
      const Tensor delta = sqrt(deltas + epsilon) * g / sqrt(squares + epsilon);
      return {w.weight - factors[0] * delta, {squares, decayed_mean(deltas, square(delta), rho)}};
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

}  // namespace kiln::optimizers
