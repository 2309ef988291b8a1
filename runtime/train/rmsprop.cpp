// RMSprop.
#include "runtime/train/optimizer_rule.h"

#include <kiln/optimizers.h>

namespace kiln::optimizers {
namespace {

/// Which state the options need, in the order velocity, momentum, average_gradient.
struct RMSpropRule {
  double rho, momentum, epsilon;
  bool centered;

  std::vector<Slot> slots() const {
    std::vector<Slot> slots{{"velocity"}};
    if (momentum > 0) slots.push_back({"momentum"});
    if (centered) slots.push_back({"average_gradient"});
    return slots;
  }

  NewWeightState step(const WeightState& w, const std::vector<Tensor>& factors) const {
    const Tensor& g = w.gradient;
    const Tensor velocity = decayed_mean(w.slots[0], square(g), rho);
    NewWeightState next{{}, {velocity}};
    Tensor spread = velocity, average;
    if (centered) {
      average = decayed_mean(w.slots.back(), g, rho);
      spread = maximum(velocity - square(average), 0);  // may be rounded to less than 0
    }
    Tensor change = factors[0] * g / sqrt(spread + epsilon);
    if (momentum > 0) {
      change = momentum * w.slots[1] + change;
      next.slots.push_back(change);
    }
    if (centered) next.slots.push_back(average);
    next.weight = w.weight - change;
    return next;
  }
};

}  // namespace

Optimizer RMSprop(const RMSpropOptions& options, Where where) {
  return named_call("RMSprop", where, [&] {
    const Call call{"RMSprop", where};
    require_range(options.rho, 0, 1, true, "rho", call);
    require_range(options.momentum, 0, 1, false, "momentum", call);
    require_not_negative(options.epsilon, "epsilon", call);
    const RMSpropRule own{options.rho, options.momentum, options.epsilon, options.centered};
    Rule rule;
    rule.slots = own.slots();
    rule.factors = [](const StepScalars& s) { return std::vector<Tensor>{s.rate}; };
    rule.step = [own](const WeightState& w, const std::vector<Tensor>& factors) {
      return own.step(w, factors);
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

}  // namespace kiln::optimizers
