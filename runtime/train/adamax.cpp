// Adamax and Nadam, variants of Adam.
#include "runtime/train/optimizer_rule.h"

#include <kiln/optimizers.h>

namespace kiln::optimizers {
namespace {

/// Nadam's momentum of a step.
Tensor nadam_momentum(double beta_1, const Tensor& step) {
  return beta_1 * (1 - 0.5 * pow(0.96, step));
}

/// Nadam's factors: of m, of the gradient, and 1 - beta_2^step.
std::vector<Tensor> nadam_factors(double b1, double b2, const StepScalars& s) {
  const Tensor u = nadam_momentum(b1, s.step), next_u = nadam_momentum(b1, s.step + 1);
  return {s.rate, next_u / (1 - s.shared * next_u), (1 - u) / (1 - s.shared), 1 - pow(b2, s.step)};
}

}  // namespace

Optimizer Adamax(const AdamaxOptions& options, Where where) {
  return named_call("Adamax", where, [&] {
    const Call call{"Adamax", where};
    require_betas(options.beta_1, options.beta_2, options.epsilon, call);
    const double b1 = options.beta_1, b2 = options.beta_2, epsilon = options.epsilon;
    Rule rule;
    rule.slots = {{"momentum"}, {"norm"}};
    rule.factors = [=](const StepScalars& s) {
      return std::vector<Tensor>{s.rate / (1 - pow(b1, s.step))};
    };
    rule.step = [=](const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
      const Tensor m = decayed_mean(w.slots[0], w.gradient, b1);
      const Tensor norm = maximum(b2 * w.slots[1], abs(w.gradient));
      return {w.weight - factors[0] * m / (norm + epsilon), {m, norm}};
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

Optimizer Nadam(const NadamOptions& options, Where where) {
  return named_call("Nadam", where, [&] {
    const Call call{"Nadam", where};
    require_betas(options.beta_1, options.beta_2, options.epsilon, call);
    const double b1 = options.beta_1, b2 = options.beta_2, epsilon = options.epsilon;
    Rule rule;
    rule.slots = {{"momentum"}, {"velocity"}};
    rule.shared = Slot{"u_product", 1};
    rule.new_shared = [=](const Tensor& product, const Tensor& step) {
      return product * nadam_momentum(b1, step);
    };
    rule.factors = [=](const StepScalars& s) { return nadam_factors(b1, b2, s); };
    rule.step = [=](const WeightState& w, const std::vector<Tensor>& factors) -> NewWeightState {
      const Tensor m = decayed_mean(w.slots[0], w.gradient, b1);
      const Tensor v = decayed_mean(w.slots[1], square(w.gradient), b2);
      const Tensor ahead = factors[1] * m + factors[2] * w.gradient;
      return {w.weight - factors[0] * ahead / (sqrt(v / factors[3]) + epsilon), {m, v}};
    };
    return make_optimizer(common_options(options), std::move(rule), call);
  });
}

}  // namespace kiln::optimizers
