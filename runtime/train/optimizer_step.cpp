// Builds the updates of one step.
#include "runtime/train/optimizer_impl.h"

#include <kiln/clip_gradients.h>

#include "core/types/text.h"
#include "runtime/train/widened.h"

#include <algorithm>

namespace kiln::optimizers {
namespace {

std::vector<Tensor> clipped(const CommonOptions& options, const std::vector<Tensor>& gradients) {
  if (options.clipnorm) return clip_by_norm(gradients, *options.clipnorm);
  if (options.clipvalue) return clip_by_value(gradients, *options.clipvalue);
  if (options.global_clipnorm) return clip_by_global_norm(gradients, *options.global_clipnorm);
  return gradients;
}

/// The scalars of one step for each dtype that weights are computed in.
class DTypeFactors {
 public:
  DTypeFactors(const Rule& rule, double weight_decay, StepScalars scalars)
      : rule_(rule), weight_decay_(weight_decay), scalars_(std::move(scalars)) {}

  struct Factors {
    Tensor decay;  // weight_decay * rate
    std::vector<Tensor> of_rule;
  };
  const Factors& of(const std::string& type) {
    const auto [found, is_new] = factors_.try_emplace(type);
    if (is_new) found->second = computed(type);
    return found->second;
  }

 private:
  Factors computed(const std::string& type) const {
    const StepScalars in_type{
        cast(scalars_.rate, type), cast(scalars_.step, type),
        scalars_.shared.empty() ? Tensor() : Tensor(cast(scalars_.shared, type))};
    return {in_type.rate * weight_decay_, rule_.factors(in_type)};
  }

  const Rule& rule_;
  double weight_decay_;
  StepScalars scalars_;
  std::map<std::string, Factors> factors_;
};

bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& other) { return same_node(other, tensor); });
}

Tensor constrained(const Tensor& weight, const Tensor& value) {
  const Constraint constraint = Variable(weight).constraint();
  return constraint ? constraint(value) : value;
}

}  // namespace

Tensor Optimizer::Impl::current_rate(Call call) const {
  if (!rate.empty()) return rate;
  const Tensor scheduled = options.learning_rate.schedule()(iterations);
  if (ndim(scheduled) == 0 && dtype(scheduled).find("float") != std::string::npos) return scheduled;
  throw ValueError(call.function, "learning_rate",
                   text("learning_rate gives ", dtype(scheduled), " of shape ",
                        shown_shape(int_shape(scheduled)), ", not a floating-point scalar"),
                   call.where);
}

Results<UpdateOp> Optimizer::Impl::updates(const std::vector<Tensor>& gradients,
                                           const std::vector<Tensor>& weights, Call call) {
  check(weights, call);
  require_gradients(gradients, weights, call);
  std::vector<Tensor> wide;
  for (const Tensor& gradient : gradients) wide.push_back(widened(gradient));
  const std::vector<Tensor> slopes = clipped(options, wide);
  const Tensor scheduled = current_rate(call);
  create(weights);  // last, so that a call that fails leaves no state
  const Tensor step = iterations + 1;
  Results<UpdateOp> updates{update(iterations, step)};
  Tensor shared;
  if (rule.shared) {
    shared = rule.new_shared(state->shared, cast(step, dtype(state->shared)));
    updates.push_back(update(state->shared, shared));
  }
  DTypeFactors factors(rule, options.weight_decay.value_or(0), {scheduled, step, shared});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor w = widened(weights[i]);
    const std::vector<Tensor>& slots = state->slots[state->positions.at(weights[i].impl().get())];
    const DTypeFactors::Factors& scalars = factors.of(dtype(w));
    const bool decays = options.weight_decay && !contains(without_decay, weights[i]);
    const Tensor decayed = decays ? w - w * scalars.decay : w;
    const NewWeightState next = rule.step({decayed, slopes[i], slots}, scalars.of_rule);
    for (std::size_t j = 0; j < slots.size(); ++j) {
      updates.push_back(update(slots[j], next.slots[j]));
    }
    const Tensor value = cast(next.weight, dtype(weights[i]));
    updates.push_back(update(weights[i], constrained(weights[i], value)));
  }
  return updates;
}

}  // namespace kiln::optimizers
