// Rule: how an optimiser changes a weight. An optimiser is the options that all of them share and a
// rule; optimizer.cpp does the rest.
#pragma once

#include <kiln/k.h>
#include <kiln/learning_rate.h>
#include <kiln/optimizer.h>

#include "runtime/train/optimizer_checks.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kiln::optimizers {

/// State of each weight, in its shape and the dtype it is computed in (widened.h), filled with
/// `initial`.
struct Slot {
  std::string name;
  double initial = 0;
};

/// Scalars in the dtype that a weight is computed in.
struct StepScalars {
  Tensor rate;
  Tensor step;  // the number of this step, from 1
  Tensor shared;  // the new value of Rule::shared; empty without it
};

/// A weight with its gradient and its slots, in the order of Rule::slots. All are of the dtype that
/// the weight is computed in.
struct WeightState {
  Tensor weight;
  Tensor gradient;
  std::vector<Tensor> slots;
};

/// The new values of a weight and of its slots.
struct NewWeightState {
  Tensor weight;
  std::vector<Tensor> slots;
};

struct Rule {
  std::vector<Slot> slots;
  /// Returns scalars for all weights of a dtype. They are computed once, so that a step of many
  /// weights does not compute its powers for each.
  std::function<std::vector<Tensor>(const StepScalars&)> factors;
  std::function<NewWeightState(const WeightState&, const std::vector<Tensor>& factors)> step;
  /// A scalar variable of the whole optimiser, in the dtype that the first weight is computed in,
  /// and its new value.
  std::optional<Slot> shared = {};
  std::function<Tensor(const Tensor& shared, const Tensor& step)> new_shared = {};
};

/// Options that all optimisers have.
struct CommonOptions {
  LearningRate learning_rate;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  std::string name;
};

/// Reads the common options of an optimiser's struct of options.
template <class Options>
CommonOptions common_options(const Options& options) {
  return {options.learning_rate, options.weight_decay,    options.clipnorm,
          options.clipvalue,     options.global_clipnorm, options.name};
}

/// Returns an optimiser of that rule. Errors: those that all optimisers have for their options.
Optimizer make_optimizer(const CommonOptions& options, Rule rule, Call call);

/// ValueError unless both decays are in [0, 1), and epsilon is finite and not negative.
void require_betas(double beta_1, double beta_2, double epsilon, Call call);

/// mean + (value - mean) * (1 - decay).
Tensor decayed_mean(const Tensor& mean, const Tensor& value, double decay);

}  // namespace kiln::optimizers
