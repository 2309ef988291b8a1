// The class of all optimisers, the project's own: the base class of Keras 3.5's optimisers, but
// minimize() and updates() return updates for `function`. Functions that make optimisers are in
// kiln/optimizers.h.
#pragma once

#include <kiln/results.h>
#include <kiln/string_argument.h>
#include <kiln/update.h>

#include <memory>
#include <string>
#include <vector>

namespace kiln::optimizers {

/// An optimiser with its state. Pass `minimize(loss, weights)` to `function` in `.updates`: each
/// call of that function is one step. The state consists of variables: the number of steps done,
/// "adam/iteration", the learning rate, "adam/learning_rate", unless it is a schedule or a tensor,
/// and those of each weight, for a weight "w" "adam/w_momentum", for the weight at position 3
/// without a name "adam/variable_3_momentum". Copies share the state. Building and the functions
/// below that build are not thread-safe.
///     const auto w = K::variable({4.}, {.name = "w"});
///     const K::optimizers::Optimizer sgd = K::optimizers::SGD({.learning_rate = 0.25});
///     const auto loss = K::sum(K::square(w));
///     const auto train = K::function({}, {loss}, {.updates = sgd.minimize(loss, {w})});
///     train()[0];  // 16.0
///     K::get_value(w);  // [2.]
class KILN_API Optimizer {
 public:
  /// An empty optimiser, whose use throws ValueError.
  Optimizer() = default;

  /// Returns the updates of one step that makes `loss` smaller: of the weights, each with its
  /// constraint applied to the new value, and of the state. weights: floating-point variables.
  /// Errors: those of updates() and of gradients(); ValueError for a weight without a
  /// differentiable path to the loss.
  Results<UpdateOp> minimize(const Operand& loss, const std::vector<Tensor>& weights,
                             Where where = Where::here()) const;
  /// Returns the updates of one step along `gradients`, which have the dtypes and shapes of the
  /// weights. Builds the state at the first call. Later calls take these weights or some of them.
  /// Errors: ValueError for no weight, one given twice, two of one name, a moving average, one that
  /// the state was not built for, or gradients of another number or shape; TypeError for a weight
  /// that is no floating-point variable, or a gradient of another dtype.
  Results<UpdateOp> updates(const std::vector<Tensor>& gradients,
                            const std::vector<Tensor>& weights, Where where = Where::here()) const;
  /// Creates the state for `weights`, so that it can be loaded before the first call of minimize();
  /// nothing if it was built for them before. Errors: those of updates() for weights.
  void build(const std::vector<Tensor>& weights, Where where = Where::here()) const;
  /// Returns the variables of the state, for save_weights, load_weights and Checkpoint. Errors:
  /// ValueError before it is built if variables of weights would be missing.
  Results<Tensor> variables(Where where = Where::here()) const;
  /// Returns the variable that counts steps, an int64 scalar.
  Tensor iterations(Where where = Where::here()) const;

  /// Returns the learning rate of the next step. Errors: those of eval for a schedule or a tensor.
  [[nodiscard]] double learning_rate(Where where = Where::here()) const;
  /// Sets the learning rate of later steps. Errors: TypeError for one that was made with a schedule
  /// or a tensor; ValueError for a negative or not finite rate.
  void set_learning_rate(double rate, Where where = Where::here()) const;
  /// Excludes weights from weight decay. Errors: ValueError when the state is built.
  void exclude_from_weight_decay(const std::vector<Tensor>& weights,
                                 Where where = Where::here()) const;
  /// Returns its name, the first part of the names of its variables.
  [[nodiscard]] std::string name(Where where = Where::here()) const;

  struct Impl;
  explicit Optimizer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  Impl& impl(const char* function, Where where) const;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kiln::optimizers
