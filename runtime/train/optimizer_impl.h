// The state of an optimiser.
#pragma once

#include "runtime/train/optimizer_rule.h"

#include <map>

namespace kiln::optimizers {

struct [[gnu::visibility("hidden")]] Optimizer::Impl {
  Impl(CommonOptions options, Rule rule) : options(std::move(options)), rule(std::move(rule)) {}

  /// ValueError or TypeError unless `weights` are distinct floating-point variables, those that the
  /// state was created for where it was created.
  void check(const std::vector<Tensor>& weights, Call call) const;
  /// Creates the state unless it was created. REQUIRES: check().
  void create(const std::vector<Tensor>& weights);
  /// ValueError if variables of weights are still to be created: a file of the others would look
  /// complete, and a training that it restores would start with moments of 0.
  void require_complete(Call call) const;
  Results<UpdateOp> updates(const std::vector<Tensor>& gradients,
                            const std::vector<Tensor>& weights, Call call);
  /// The learning rate as a floating-point scalar.
  Tensor current_rate(Call call) const;

  CommonOptions options;
  Rule rule;
  Tensor iterations;
  Tensor rate;  // empty for a schedule or a tensor
  std::vector<Tensor> without_decay;

  struct State {
    std::vector<Tensor> weights;
    std::vector<std::vector<Tensor>> slots;  // of each weight
    Tensor shared;  // of Rule::shared
    std::map<const TensorImpl*, std::size_t> positions;  // of weights
  };
  std::optional<State> state;  // unset until it is built
};

}  // namespace kiln::optimizers
