// L-BFGS: minimises a loss of the whole data without a learning rate. The project's own: Keras has
// none. Names are those of torch.optim.LBFGS, the defaults of history_size and tolerance_grad those
// of SciPy's L-BFGS-B (maxcor, gtol). Not for FunctionOptions::check_numerics: bounds of its line
// search begin at infinity.
#pragma once

#include <kiln/results.h>
#include <kiln/string_argument.h>
#include <kiln/update.h>

#include <memory>
#include <string>
#include <vector>

namespace kiln::optimizers {

struct LBFGSOptions {
  WholeNumber history_size = 10;  ///< the pairs of steps and gradient changes that it stores
  double tolerance_grad = 1e-5;  ///< converged: the largest absolute gradient, SciPy's `gtol`
  double tolerance_change = 1e-9;  ///< stops: the largest absolute change of a weight by a step
  double c1 = 1e-4;  ///< the part of the decrease that the slope predicts which a step must achieve
  double c2 = 0.9;  ///< the part of the slope which a step may leave
  WholeNumber max_trials = 25;  ///< trials of one line search; then it starts from the gradient
  StringArgument name = "lbfgs";
};

/// L-BFGS (J. Nocedal, 1980) with the line search of A. Lewis and M. Overton (2013), which finds a
/// step of the weak Wolfe conditions by doubling and bisection. Pass `minimize(loss, weights)` to
/// `function` in `.updates`: each call evaluates loss and gradients once, at the weights, and moves
/// them to the next trial point. So most calls are steps, and some shorten or lengthen one; a loss
/// or gradient that is not finite shortens it. The loss must be the same function of the weights at
/// each call: no batches that change, no dropout.
/// Call the function until stopped(); from then on its calls leave the weights at the best point.
/// Bound the number of calls, too: rounding can keep gradients above the tolerance. Between calls
/// the weights are at a trial point; restore_best_weights() sets them to the best one.
/// The state consists of variables, "lbfgs/best_loss" and others, with 2 * history_size + 3 numbers
/// per element of a weight. Copies share it. Steps are computed in float64 if a weight is float64,
/// else in float32; their sums and the scalars of the line search in float64, as differences of
/// losses cancel. Functions that build are not thread-safe.
///     const auto w = K::variable({4., -2.}, {.name = "w"});
///     const K::optimizers::LBFGS lbfgs;
///     const auto loss = K::sum(K::square(w - K::constant({1., 3.})));
///     const auto train = K::function({}, {loss}, {.updates = lbfgs.minimize(loss, {w})});
///     const auto done = [&] { return K::get_value(lbfgs.stopped()).item<bool>(); };
///     for (int call = 0; call < 50 && !done(); ++call) train();
///     K::eval(K::abs(w - K::constant({1., 3.})) < 1e-4f);  // [ True True]
class KILN_API LBFGS {
 public:
  LBFGS() : LBFGS({}, Where()) {}
  /// Errors: ValueError for a history_size or max_trials below 1, a tolerance that is negative or
  /// not finite, and unless 0 < c1 < c2 < 1 and c1 < 0.5.
  explicit LBFGS(const LBFGSOptions& options, Where where = Where::here());
  LBFGS(const LBFGS& other) = default;  // and no move, which would leave an empty one
  LBFGS& operator=(const LBFGS& other) = default;

  /// Returns the updates of one call, of the weights and of the state. loss: floating point; it is
  /// summed unless it is a scalar. weights: floating-point variables, at each call the same ones in
  /// the same order. Errors: those of updates() and of gradients(); ValueError for a weight without
  /// a differentiable path to the loss.
  Results<UpdateOp> minimize(const Operand& loss, const std::vector<Tensor>& weights,
                             Where where = Where::here()) const;
  /// As minimize(), with gradients of the caller's, those of `loss`, which have the dtypes and
  /// shapes of the weights. Builds the state at the first call.
  /// Errors: ValueError for no weight, one given twice, two of one name, a moving average, one with
  /// a constraint, other weights than those that the state was built for, or gradients of another
  /// number or shape; TypeError for a weight that is no floating-point variable, a gradient of
  /// another dtype, or a loss that is not floating point.
  Results<UpdateOp> updates(const Operand& loss, const std::vector<Tensor>& gradients,
                            const std::vector<Tensor>& weights, Where where = Where::here()) const;
  /// Creates the state for `weights`, so that it can be loaded before the first call of minimize();
  /// nothing if it was built for them before. Errors: those of updates() for weights.
  void build(const std::vector<Tensor>& weights, Where where = Where::here()) const;
  /// Returns the variables of the state, for save_weights and Checkpoint. Errors: ValueError before
  /// it is built.
  Results<Tensor> variables(Where where = Where::here()) const;

  /// Returns a bool variable: whether later calls change nothing, because it has converged, a step
  /// changed weights by no more than tolerance_change, a line search along the gradient failed, or
  /// loss or gradients were not finite at the first point.
  Tensor stopped() const;
  /// Returns a bool variable: whether it stopped where no absolute gradient is above
  /// tolerance_grad.
  Tensor converged() const;
  /// Returns a float64 variable: the loss at the best point, infinity before the first call.
  Tensor best_loss() const;
  /// Returns an int64 variable: the number of steps, each from a best point to the next.
  Tensor iterations() const;

  /// Sets the weights to the best point, the last one that ended a line search; nothing before the
  /// first call. Training can go on: the next call evaluates that point once more.
  /// Errors: ValueError before the state is built.
  void restore_best_weights(Where where = Where::here()) const;
  /// Forgets all, so that the next call starts from the weights' values: after a change of the
  /// weights or of the loss. Errors: none; nothing before the state is built.
  void reset(Where where = Where::here()) const;
  /// Returns its name, the first part of the names of its variables.
  [[nodiscard]] std::string name() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kiln::optimizers
