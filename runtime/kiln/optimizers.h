// Optimisers: each function returns an Optimizer (kiln/optimizer.h) with its rule. All have these
// options: `learning_rate`, a number, a scalar tensor or a schedule; `weight_decay`: each step
// first multiplies weights by 1 - weight_decay * learning_rate; at most one of `clipnorm`,
// `global_clipnorm` and `clipvalue`, as in kiln/clip_gradients.h; `name`, the first part of the
// names of its variables. Steps of float16 and bfloat16 weights are computed in float32 and rounded
// once; their state is float32, where Keras has the weight's dtype. Names, defaults and formulas:
// Keras 3.5, keras/src/optimizers. L-BFGS, which needs the loss and has none of these options, is a
// class of its own (kiln/lbfgs.h).
#pragma once

#include <kiln/learning_rate.h>
#include <kiln/optimizer.h>

#include <optional>

namespace kiln::optimizers {

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;  ///< the part of the last step that is added to the next one
  Flag nesterov = false;  ///< momentum by Nesterov's rule
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "SGD";
};
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;  ///< decay of the mean of gradients
  double beta_2 = 0.999;  ///< decay of the mean of their squares
  double epsilon = 1e-7;  ///< added to the root of the mean square
  Flag amsgrad = false;  ///< divide by the largest mean square so far
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "adam";
};
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = 0.004;
  double beta_1 = 0.9;  ///< decay of the mean of gradients
  double beta_2 = 0.999;  ///< decay of the mean of their squares
  double epsilon = 1e-7;  ///< added to the root of the mean square
  Flag amsgrad = false;  ///< divide by the largest mean square so far
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "adamw";
};
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;  ///< decay of the mean of gradients
  double beta_2 = 0.999;  ///< decay of the largest absolute gradient
  double epsilon = 1e-7;  ///< added to the largest absolute gradient
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "adamax";
};
struct NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;  ///< decay of the mean of gradients
  double beta_2 = 0.999;  ///< decay of the mean of their squares
  double epsilon = 1e-7;  ///< added to the root of the mean square
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "nadam";
};
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;  ///< decay of the mean of squared gradients
  double momentum = 0;  ///< the part of the last step that is added to the next one
  double epsilon = 1e-7;  ///< added to the mean square
  Flag centered = false;  ///< divide by the variance of gradients, not by their mean square
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "rmsprop";
};
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;  ///< of the sum of squared gradients
  double epsilon = 1e-7;  ///< added to this sum
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "adagrad";
};
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;  ///< decay of the mean squares of gradients and steps
  double epsilon = 1e-7;  ///< added to both mean squares
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  StringArgument name = "adadelta";
};

/// Returns stochastic gradient descent: w -= learning_rate * g. With momentum, m := momentum * m -
/// learning_rate * g is added instead; with nesterov, momentum * m - learning_rate * g of that m.
/// Errors: ValueError for a negative or not finite learning_rate, a momentum outside [0, 1], a
/// negative weight_decay, a clipping bound that is not positive, and two of these.
///     const auto w = K::variable({1., 2.});
///     const auto sgd = K::optimizers::SGD({.learning_rate = 0.25});
///     K::function({}, {}, {.updates = sgd.minimize(K::sum(K::square(w)), {w})})();
///     K::get_value(w);  // [0.5 1. ]
[[nodiscard]] KILN_API Optimizer SGD(const SGDOptions& options = {}, Where where = Where::here());
/// Returns Adam (D. Kingma and J. Ba, 2015), with amsgrad AMSGrad (S. Reddi et al., 2018).
/// Errors: as for SGD; ValueError for a beta outside [0, 1) or a negative epsilon.
///     const auto w = K::variable({1., 2.});
///     const auto adam = K::optimizers::Adam({.learning_rate = 0.5, .epsilon = 0});
///     K::function({}, {}, {.updates = adam.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(K::abs(w - K::constant({0.5, 1.5})) < 1e-4f);  // [ True True]
[[nodiscard]] KILN_API Optimizer Adam(const AdamOptions& options = {}, Where where = Where::here());
/// Returns Adam with weight decay that is not part of the gradient (I. Loshchilov and F. Hutter,
/// 2019): Adam whose weight_decay is 0.004 by default.
/// Errors: as for Adam.
///     const auto w = K::variable({1., 2.});
///     const auto adamw = K::optimizers::AdamW({.learning_rate = 0.5, .weight_decay = 0.1});
///     K::function({}, {}, {.updates = adamw.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(K::abs(w - K::constant({0.45, 1.4})) < 1e-4f);  // [ True True]
[[nodiscard]] KILN_API Optimizer AdamW(const AdamWOptions& options = {},
                                       Where where = Where::here());
/// Returns Adamax, Adam with the largest absolute gradient instead of the mean square (D. Kingma
/// and J. Ba, 2015, section 7.1). Errors: as for Adam.
///     const auto w = K::variable({1., 2.});
///     const auto adamax = K::optimizers::Adamax({.learning_rate = 0.5});
///     K::function({}, {}, {.updates = adamax.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(K::abs(w - K::constant({0.5, 1.5})) < 1e-4f);  // [ True True]
[[nodiscard]] KILN_API Optimizer Adamax(const AdamaxOptions& options = {},
                                        Where where = Where::here());
/// Returns Nadam, Adam with Nesterov's momentum (T. Dozat, 2015). Errors: as for Adam.
///     const auto w = K::variable({1., 2.});
///     const auto nadam = K::optimizers::Nadam({.learning_rate = 0.5});
///     K::function({}, {}, {.updates = nadam.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(w < K::constant({0.5, 1.5}));  // [ True True]
[[nodiscard]] KILN_API Optimizer Nadam(const NadamOptions& options = {},
                                       Where where = Where::here());
/// Returns RMSprop (G. Hinton, 2012): steps divided by the root of the mean of squared gradients.
/// Errors: as for SGD; ValueError for a rho outside [0, 1) or a negative epsilon.
///     const auto w = K::variable({1., 2.});
///     const auto rmsprop = K::optimizers::RMSprop({.learning_rate = 0.1, .rho = 0.75});
///     K::function({}, {}, {.updates = rmsprop.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(K::abs(w - K::constant({0.8, 1.8})) < 1e-4f);  // [ True True]
[[nodiscard]] KILN_API Optimizer RMSprop(const RMSpropOptions& options = {},
                                         Where where = Where::here());
/// Returns Adagrad (J. Duchi et al., 2011): steps divided by the root of the sum of squared
/// gradients. Errors: as for SGD; ValueError for a negative initial_accumulator_value or epsilon.
///     const auto w = K::variable({1., 2.});
///     const auto adagrad =
///         K::optimizers::Adagrad({.learning_rate = 0.5, .initial_accumulator_value = 0});
///     K::function({}, {}, {.updates = adagrad.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(K::abs(w - K::constant({0.5, 1.5})) < 1e-4f);  // [ True True]
[[nodiscard]] KILN_API Optimizer Adagrad(const AdagradOptions& options = {},
                                         Where where = Where::here());
/// Returns Adadelta (M. Zeiler, 2012): steps as large as the root of the mean of squared steps. The
/// paper's learning_rate is 1. Errors: as for SGD; ValueError for a rho outside [0, 1) or a
/// negative epsilon.
///     const auto w = K::variable({1., 2.});
///     const auto adadelta = K::optimizers::Adadelta({.learning_rate = 1});
///     K::function({}, {}, {.updates = adadelta.minimize(K::sum(K::square(w)), {w})})();
///     K::eval(w < K::constant({1., 2.}));  // [ True True]
[[nodiscard]] KILN_API Optimizer Adadelta(const AdadeltaOptions& options = {},
                                          Where where = Where::here());

}  // namespace kiln::optimizers
