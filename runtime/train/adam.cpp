// Adam, AMSGrad and AdamW.
#include "runtime/train/optimizer_rule.h"

#include <kiln/optimizers.h>

namespace kiln::optimizers {
namespace {

/// Options: AdamOptions or AdamWOptions.
template <class Options>
Optimizer make_adam(const Options& options, Call call) {
  require_betas(options.beta_1, options.beta_2, options.epsilon, call);
  const double b1 = options.beta_1, b2 = options.beta_2, epsilon = options.epsilon;
  Rule rule;
  rule.slots = {{"momentum"}, {"velocity"}};
  if (options.amsgrad) rule.slots.push_back({"velocity_hat"});
  rule.factors = [=](const StepScalars& s) {
    return std::vector<Tensor>{s.rate * sqrt(1 - pow(b2, s.step)) / (1 - pow(b1, s.step))};
  };
  rule.step = [=](const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
    // Keras writes m + (g - m) * (1 - b1), as decayed_mean(). It rounds differently, and with this
    // form small weights share kernels.
    const Tensor m = b1 * w.slots[0] + (1 - b1) * w.gradient;
    const Tensor v = b2 * w.slots[1] + (1 - b2) * square(w.gradient);
    NewWeightState next{{}, {m, v}};
    if (w.slots.size() == 3) next.slots.push_back(maximum(w.slots[2], v));
    next.weight = w.weight - factors[0] * m / (sqrt(next.slots.back()) + epsilon);
    return next;
  };
  return make_optimizer(common_options(options), std::move(rule), call);
}

}  // namespace

Optimizer Adam(const AdamOptions& options, Where where) {
  return named_call("Adam", where, [&] { return make_adam(options, {"Adam", where}); });
}

Optimizer AdamW(const AdamWOptions& options, Where where) {
  return named_call("AdamW", where, [&] { return make_adam(options, {"AdamW", where}); });
}

}  // namespace kiln::optimizers
