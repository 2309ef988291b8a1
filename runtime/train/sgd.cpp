// Stochastic gradient descent.
#include "runtime/train/optimizer_rule.h"

#include <kiln/optimizers.h>

namespace kiln::optimizers {

Optimizer SGD(const SGDOptions& options, Where where) {
  return named_call("SGD", where, [&] {
    const Call call{"SGD", where};
    require_range(options.momentum, 0, 1, false, "momentum", call);
    Rule rule;
    rule.factors = [](const StepScalars& scalars) { return std::vector<Tensor>{scalars.rate}; };
    if (options.momentum == 0) {
      rule.step = [](const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
        return {w.weight - w.gradient * factors[0], {}};
      };
      return make_optimizer(common_options(options), std::move(rule), call);
    }
    rule.slots = {{"momentum"}};
    rule.step = [momentum = options.momentum, nesterov = options.nesterov](
                    const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
      const Tensor change = w.gradient * factors[0], m = w.slots[0] * momentum - change;
      return {w.weight + (nesterov ? m * momentum - change : m), {m}};
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

}  // namespace kiln::optimizers
