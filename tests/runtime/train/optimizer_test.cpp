// Tests the interface of optimisers: their state, learning rates, and misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <cmath>
#include <limits>

namespace kiln {
namespace {

using optimizers::Adam;
using optimizers::Optimizer;
using optimizers::SGD;
using testing::Misuse;
using testing::throws;

std::vector<std::string> names_of(const Results<Tensor>& variables) {
  std::vector<std::string> names;
  for (const Tensor& v : variables) names.push_back(v.name());
  return names;
}

/// Calls a function of these updates once.
void step(const std::vector<UpdateOp>& updates) { function({}, {}, {.updates = updates})(); }

double first_of(const Tensor& variable) { return get_value(variable).at<float>(0); }

}  // namespace

TEST_CASE("optimizer: its state has names, and is saved and loaded") {
  const auto w = variable({1., 2.}, {.name = "layer/w"}), b = variable({3.});
  const std::vector<Tensor> weights{w, b};
  const Tensor loss = sum(square(w)) + sum(square(b));
  const Optimizer adam = Adam({.amsgrad = true}), copy = adam;
  step(adam.minimize(loss, weights));
  const std::vector<std::string> names{
      "adam/iteration",           "adam/learning_rate",          "adam/layer/w_momentum",
      "adam/layer/w_velocity",    "adam/layer/w_velocity_hat",   "adam/variable_1_momentum",
      "adam/variable_1_velocity", "adam/variable_1_velocity_hat"};
  CHECK(names_of(adam.variables()) == names);
  CHECK(names_of(copy.variables()) == names);

  const testing::Scratch scratch;
  const std::string path = scratch.folder() + "/adam.safetensors";
  save_weights(path, adam.variables());
  const Optimizer loaded = Adam({.learning_rate = 0.5, .amsgrad = true});
  loaded.build({w, b});
  load_weights(path, loaded.variables());
  CHECK(loaded.learning_rate() == Approx(1e-3));
  const Results<Tensor> have = loaded.variables(), want = adam.variables();
  for (std::size_t i = 0; i < have.size(); ++i) {
    CHECK(eval(all(equal(have[i], want[i]))).item<bool>());
  }
  CHECK(dtype(have[0]) == "int64");
}

TEST_CASE("optimizer: later updates continue the state, also of some weights") {
  const auto w = variable({1.}), b = variable({1.});
  const Optimizer sgd = SGD({.learning_rate = 1, .momentum = 0.5});
  step(sgd.updates({constant({1.}), constant({1.})}, {w, b}));
  step(sgd.updates({constant({1.})}, {b}));
  CHECK(first_of(w) == 0);
  CHECK(first_of(b) == -1.5);
  CHECK(get_value(sgd.iterations()).item<std::int64_t>() == 2);
}

TEST_CASE("optimizer: its learning rate is a number, a tensor or a function of the step") {
  const auto w = variable({0.}, {.dtype = "float64"});
  const Tensor slope = constant({1.}, {.dtype = "float64"});
  const auto value = [&] { return get_value(w).at<double>(0); };
  const Optimizer number = SGD({.learning_rate = 0.5});
  const Function train = function({}, {}, {.updates = number.updates({slope}, {w})});
  train();
  CHECK(value() == -0.5);
  number.set_learning_rate(2);
  CHECK(number.learning_rate() == 2);
  train();
  CHECK(value() == -2.5);

  const auto rate = placeholder({.shape = {}});
  const Optimizer fed = SGD({.learning_rate = rate});
  function({rate}, {}, {.updates = fed.updates({slope}, {w})})({4});
  CHECK(value() == -6.5);

  const Optimizer scheduled =
      SGD({.learning_rate = [](const Tensor& done) { return 1 + cast(done, "float32"); }});
  CHECK(scheduled.learning_rate() == 1);
  const Function next = function({}, {}, {.updates = scheduled.updates({slope}, {w})});
  next(), next();
  CHECK(value() == -9.5);
  CHECK(scheduled.learning_rate() == 3);
  CHECK(scheduled.variables().size() == 1);
}

TEST_CASE("optimizer: weights have dtypes of their own, and may be without weight decay") {
  const auto w = variable({1.}, {.dtype = "float64"}), h = variable({1.}, {.dtype = "float16"});
  const Optimizer adam = Adam({.learning_rate = 0.25, .weight_decay = 1., .global_clipnorm = 1});
  CHECK(adam.name() == "adam");
  adam.exclude_from_weight_decay({h});
  const Tensor slope = constant({1.}, {.dtype = "float64"});
  step(adam.updates({slope, cast(slope, "float16")}, {w, h}));
  CHECK(get_value(w).at<double>(0) == Approx(0.5).epsilon(1e-4));
  CHECK(eval(cast(h, "float32")).at<float>(0) == Approx(0.75).epsilon(1e-2));
  CHECK(dtype(adam.variables()[2]) == "float64");
  CHECK(dtype(adam.variables()[4]) == "float32");
}

TEST_CASE("clip_gradients: norms and values") {
  using namespace optimizers;
  const Tensor g = constant({3., -4.}), h = constant({12.}, {.dtype = "float64"});
  CHECK(eval(global_norm({g, h})).item<double>() == 13);
  CHECK(eval(clip_by_global_norm({g, h}, 26)[1]).at<double>(0) == 12);
  CHECK(eval(clip_by_global_norm({g, h}, 6.5)[1]).at<double>(0) == Approx(6));
  CHECK(eval(clip_by_global_norm({g, h}, 6.5)[0]).at<float>(1) == -2);
  CHECK(eval(clip_by_norm({g, h}, 10)[0]).at<float>(0) == 3);
  CHECK(eval(clip_by_norm({g, h}, 10)[1]).at<double>(0) == 10);
  CHECK(eval(clip_by_value({g, h}, 3.5)[0]).at<float>(1) == -3.5f);
  CHECK(clip_by_global_norm({}, 1).empty());
  const Tensor zero = zeros({1});
  CHECK(eval(clip_by_global_norm({zero}, 1)[0]).at<float>(0) == 0);
  CHECK(eval(clip_by_norm({zero}, 1)[0]).at<float>(0) == 0);
  const Tensor infinite = constant({std::numeric_limits<double>::infinity()});
  CHECK(std::isnan(eval(clip_by_global_norm({infinite, zero}, 1)[1]).at<float>(0)));
  const Tensor half = clip_by_norm({constant({300., 400.}, {.dtype = "float16"})}, 1)[0];
  CHECK(dtype(half) == "float16");
  CHECK(eval(cast(half, "float32")).at<float>(0) == Approx(0.6).epsilon(1e-3));
}

TEST_CASE("optimizer: a call of updates that fails builds no state") {
  const auto w = variable({1.});
  const Optimizer adam = Adam({.learning_rate = [](const Tensor& done) { return done; }});
  CHECK_THROWS_AS(adam.updates({constant({1.})}, {w}), ValueError);
  CHECK_NOTHROW(adam.exclude_from_weight_decay({w}));
}

TEST_CASE("optimizer: a centered RMSprop divides by no variance below 0") {
  const auto w = variable({0., 0., 0., 0.});
  const Tensor slope = constant({300.3, 1000.7, 77.1, 1234.5});
  const Optimizer rmsprop = optimizers::RMSprop({.rho = 0.7, .centered = true});
  const Function train = function({}, {}, {.updates = rmsprop.updates({slope}, {w})});
  for (int i = 0; i < 100; ++i) train();
  for (std::int64_t i = 0; i < 4; ++i) CHECK(std::isfinite(get_value(w).at<float>(i)));
}

TEST_CASE("optimizer: misuse of options") {
  const double inf = std::numeric_limits<double>::infinity();
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { SGD({.learning_rate = -1}); },
       "SGD: learning_rate -1 is negative or not finite"},
      {throws<ValueError>(), [] { SGD({.learning_rate = schedules::Schedule()}); },
       "SGD: learning_rate is an empty function"},
      {throws<ValueError>(), [] { SGD({.momentum = 1.5}); }, "SGD: momentum 1.5 is outside [0, 1]"},
      {throws<ValueError>(), [=] { SGD({.weight_decay = inf}); },
       "SGD: weight_decay inf is negative or not finite"},
      {throws<ValueError>(), [] { SGD({.clipnorm = 0}); },
       "SGD: clipnorm 0 is not positive or not finite"},
      {throws<ValueError>(), [] { SGD({.clipnorm = 1, .clipvalue = 1}); },
       "SGD: only one of clipnorm and clipvalue can be set"},
      {throws<ValueError>(), [] { Adam({.beta_1 = 1}); }, "Adam: beta_1 1 is outside [0, 1)"},
      {throws<ValueError>(), [] { Adam({.beta_2 = -0.5}); }, "Adam: beta_2 -0.5 is outside [0, 1)"},
      {throws<ValueError>(), [] { Adam({.epsilon = -1}); },
       "Adam: epsilon -1 is negative or not finite"},
      {throws<ValueError>(), [] { optimizers::AdamW({.beta_1 = 2}); },
       "AdamW: beta_1 2 is outside [0, 1)"},
      {throws<ValueError>(), [] { optimizers::Adamax({.beta_2 = 1}); },
       "Adamax: beta_2 1 is outside [0, 1)"},
      {throws<ValueError>(), [=] { optimizers::Nadam({.epsilon = inf}); },
       "Nadam: epsilon inf is negative or not finite"},
      {throws<ValueError>(), [] { optimizers::RMSprop({.rho = 1}); },
       "RMSprop: rho 1 is outside [0, 1)"},
      {throws<ValueError>(), [] { optimizers::RMSprop({.momentum = -1}); },
       "RMSprop: momentum -1 is outside [0, 1]"},
      {throws<ValueError>(), [] { optimizers::Adagrad({.initial_accumulator_value = -1}); },
       "Adagrad: initial_accumulator_value -1 is negative or not finite"},
      {throws<ValueError>(), [] { optimizers::Adadelta({.rho = -1}); },
       "Adadelta: rho -1 is outside [0, 1)"},
      {throws<ValueError>(), [] { optimizers::clip_by_norm({}, 0); },
       "clip_by_norm: norm 0 is not positive or not finite"},
      {throws<ValueError>(), [=] { optimizers::clip_by_global_norm({}, inf); },
       "clip_by_global_norm: norm inf is not positive or not finite"},
      {throws<ValueError>(), [] { optimizers::clip_by_value({}, -1); },
       "clip_by_value: value -1 is not positive or not finite"},
      {throws<ValueError>(), [] { optimizers::global_norm({}); },
       "global_norm: gradients is empty"}});
}

TEST_CASE("optimizer: weights minimised twice are an error that has the line of the first time") {
  const auto w = variable({1.}, {.name = "w"});
  const unsigned first = __LINE__ + 1;
  const auto once = SGD().minimize(sum(w), {w});
  const auto twice = join_updates({once, SGD().minimize(sum(w), {w})});
  testing::run({{throws<ValueError>(), [=] { function({}, {}, {.updates = twice}); },
                 "function: updates[3] updates a variable that has an update already (w "
                 "float32[1], first at " +
                     std::string(Where::here().file) + ":" + std::to_string(first) + ")"}});
}

TEST_CASE("optimizer: misuse of weights and gradients") {
  const auto w = variable({{1., 2.}}, {.name = "w"}), b = variable({1.}, {.name = "b"});
  const auto count = variable({1}, {.dtype = "int32", .name = "count"});
  const Tensor loss = sum(square(w)), x = placeholder({.shape = {None}, .name = "x"});
  const Tensor f64 = constant({1.}, {.dtype = "float64"});
  const Optimizer sgd = SGD({.momentum = 0.5});
  const Optimizer built = SGD();
  built.build({w});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [=] { sgd.minimize(loss, {w, b}); },
       "minimize: the loss does not depend on b, so it has no gradient"},
      {throws<ValueError>(), [=] { sgd.minimize(sum(round(b)) + loss, {w, b}); },
       "minimize: the loss does not depend on b, so it has no gradient; round on the path to the "
       "loss is not differentiable"},
      {throws<ValueError>(), [=] { sgd.updates(gradients(loss, {w, b}), {w, b}); },
       "updates: the loss does not depend on b, so it has no gradient"},
      {throws<ValueError>(), [=] { sgd.updates({b, Tensor()}, {b, w}); },
       "updates: gradients[1] is an empty tensor"},
      {throws<ValueError>(), [=] { sgd.minimize(loss, {w, b, w}); },
       "minimize: weights[2] 'w' is the same variable as weights[0]"},
      {throws<ValueError>(), [=] { sgd.minimize(loss, {}); }, "minimize: weights is empty"},
      {throws<TypeError>(), [=] { sgd.minimize(loss, {x}); },
       "minimize: weights[0] 'x' is not a variable"},
      {throws<TypeError>(), [=] { sgd.minimize(loss, {Tensor()}); },
       "minimize: weights[0] is not a variable"},
      {throws<TypeError>(), [=] { sgd.build({w, count}); },
       "build: weights[1] 'count' is int32, not floating point"},
      {throws<ValueError>(), [=] { sgd.updates({w}, {w, b}); },
       "updates: there are 1 gradients for 2 weights"},
      {throws<ValueError>(), [=] { sgd.updates({w, w}, {w, b}); },
       "updates: gradients[1] has shape (1, 2), its weight 'b' (1)"},
      {throws<ValueError>(), [=] { sgd.updates({x}, {w}); },
       "updates: gradients[0] has shape (None), its weight 'w' (1, 2)"},
      {throws<TypeError>(), [=] { sgd.updates({f64}, {b}); },
       "updates: gradients[0] is float64, its weight 'b' float32"},
      {throws<ValueError>(), [=] { built.updates({w, b}, {w, b}); },
       "updates: weights[1] 'b' is not one of the 1 variables that the state of 'SGD' was built "
       "for"},
      {throws<ValueError>(), [=] { built.exclude_from_weight_decay({w}); },
       "exclude_from_weight_decay: the state of 'SGD' is built already"},
      {throws<ValueError>(), [=] { built.set_learning_rate(-1); },
       "set_learning_rate: rate -1 is negative or not finite"},
      {throws<ValueError>(), [] { Optimizer().variables(); }, "variables: the optimiser is empty"},
      {throws<ValueError>(), [=] { sgd.variables(); },
       "variables: the state of 'SGD' is not built, so that 'momentum' would be missing: call "
       "minimize or build(weights) first"}});
  CHECK(names_of(SGD().variables()) ==
        std::vector<std::string>{"SGD/iteration", "SGD/learning_rate"});
}

TEST_CASE("optimizer: misuse of names and moving averages") {
  const layers::Dense head(2, {.name = "head"}), same(2, {.name = "head"});
  const layers::BatchNormalization norm({.name = "norm"});
  const Tensor x = constant({{1., 2.}}), loss = sum(norm(head(x))) + sum(same(x));
  const Optimizer adam = Adam();
  const optimizers::LBFGS lbfgs;
  const std::string both =
      "weights[0] and weights[2] are both named 'head/kernel': give each, or its layer, a .name of "
      "its own, or make them in name scopes";
  const auto heads = layers::weights({head, same});
  const auto nameless = variable({1.}), other = variable({1.});
  Adam().build({nameless, other});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [=] { adam.build(heads); }, "build: " + both},
      {throws<ValueError>(), [=] { adam.minimize(loss, heads); }, "minimize: " + both},
      {throws<ValueError>(), [=] { lbfgs.minimize(loss, heads); }, "minimize: " + both},
      {throws<ValueError>(), [=] { adam.minimize(loss, norm.weights()); },
       "minimize: weights[2] 'norm/moving_mean' is not trainable: pass trainable_weights() instead "
       "of weights()"},
      {throws<ValueError>(), [=] { lbfgs.build(norm.weights()); },
       "build: weights[2] 'norm/moving_mean' is not trainable: pass trainable_weights() instead of "
       "weights()"}});
}

TEST_CASE("optimizer: misuse of schedules") {
  const auto w = variable({1.}, {.name = "w"});
  const Optimizer vector = SGD({.learning_rate = w});
  const Optimizer integer = SGD({.learning_rate = [](const Tensor& step) { return step; }});
  testing::run(std::vector<Misuse>{
      {throws<TypeError>(), [=] { vector.set_learning_rate(1); },
       "set_learning_rate: the learning rate of 'SGD' is a schedule or a tensor, which cannot be "
       "set"},
      {throws<ValueError>(), [=] { vector.updates({w}, {w}); },
       "updates: learning_rate gives float32 of shape (1), not a floating-point scalar"},
      {throws<ValueError>(), [=] { (void)integer.learning_rate(); },
       "learning_rate: learning_rate gives int64 of shape (), not a floating-point scalar"}});
}

}  // namespace kiln
