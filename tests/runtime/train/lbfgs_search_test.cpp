// Tests the line search of L-BFGS call by call, with losses and gradients of the test, and misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <limits>
#include <utility>

namespace kiln {
namespace {

using optimizers::LBFGS;
using optimizers::LBFGSOptions;
using testing::Misuse;
using testing::throws;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A minimisation over one weight, 3 at first, whose losses and gradients are fed.
struct FedSearch {
  Variable w = variable({3.}, {.dtype = "float64", .name = "w"});
  LBFGS lbfgs;
  Function call;

  explicit FedSearch(const LBFGSOptions& options = {}) : lbfgs(options) {
    const auto loss = placeholder({.shape = {}, .dtype = "float64"});
    const auto slope = placeholder({.shape = {1}, .dtype = "float64"});
    call = function({loss, slope}, {}, {.updates = lbfgs.updates(loss, {slope}, {w})});
  }
  /// Returns the weight after a call with these.
  double next(double loss, double slope) {
    call({Array(loss), Array{slope}});
    return get_value(w).at<double>(0);
  }
  /// A call with the loss w^2.
  double next() {
    const double x = get_value(w).at<double>(0);
    return next(x * x, 2 * x);
  }
  bool is(const Tensor& flag) const { return get_value(flag).item<bool>(); }
  double best() const { return get_value(lbfgs.best_loss()).item<double>(); }
};

}  // namespace

TEST_CASE("lbfgs: the first step has length 1 at most, the next is that of Newton") {
  FedSearch search;
  CHECK(search.best() == std::numeric_limits<double>::infinity());
  CHECK(search.next() == Approx(2));  // 3 - 6 * min(1, 1 / 6)
  CHECK(search.best() == 9);
  CHECK(search.next() == Approx(0).margin(1e-12));
  CHECK(search.next() == Approx(0).margin(1e-12));
  CHECK(search.is(search.lbfgs.converged()));
  CHECK(search.is(search.lbfgs.stopped()));
  CHECK(get_value(search.lbfgs.iterations()).item<std::int64_t>() == 2);
  FedSearch flat;
  flat.next(1, 0.5);
  CHECK(get_value(flat.w).at<double>(0) == 2.5);  // min(1, 1 / 0.5) times 0.5
}

TEST_CASE("lbfgs: losses and gradients that are not finite halve the step") {
  const double infinity = std::numeric_limits<double>::infinity();
  FedSearch search;
  search.next(9, 6);
  CHECK(search.next(kNaN, kNaN) == Approx(2.5));
  CHECK(search.next(infinity, 1) == Approx(2.75));
  CHECK(search.next(-infinity, 1) == Approx(2.875));
  CHECK(search.next(8, kNaN) == Approx(2.9375));
  CHECK(search.next(8, infinity) == Approx(2.96875));
  CHECK(search.next(9.1, 6) == Approx(2.984375));  // no decrease
  CHECK(search.best() == 9);
  CHECK(search.next(8.9, 6) == Approx(2.9765625));  // too short: between this and the last one
  CHECK(search.next(8.8, 1) < 2.9765625);  // accepted
  CHECK(search.best() == 8.8);
}

TEST_CASE("lbfgs: steps that leave the slope are doubled") {
  FedSearch search;
  search.next(9, 6);
  CHECK(search.next(8, 6) == Approx(1));
  CHECK(search.next(7, 6) == Approx(-1));
  CHECK(search.next(8.999, -6.1) == Approx(0).margin(1e-12));  // less than c1 demands
  CHECK(search.next(5, 5.5) == Approx(-0.5));  // more than c2 of the slope is left
  search.next(4, 5.3);
  CHECK(search.best() == 4);
}

TEST_CASE("lbfgs: losses that rounding makes equal are compared by their slopes") {
  const double equal = 9 * (1 + 1e-15);
  FedSearch search;
  search.next(9, 6);
  search.next(equal, 1);
  CHECK(search.best() == equal);
  FedSearch uphill;
  uphill.next(9, 6);
  uphill.next(equal, -6.1);
  CHECK(uphill.best() == 9);
}

TEST_CASE("lbfgs: a line search that fails starts again without history, then gives up") {
  FedSearch search({.max_trials = 2});
  search.next();
  search.next(4, 4);  // the best point: 2
  search.next(kNaN, 0);
  CHECK(search.next(kNaN, 0) == Approx(1));  // 2 - 4 * min(1, 1 / 4)
  CHECK_FALSE(search.is(search.lbfgs.stopped()));
  CHECK(search.next(kNaN, 0) == Approx(1.5));
  CHECK(search.next(kNaN, 0) == 2);
  CHECK(search.is(search.lbfgs.stopped()));
  CHECK_FALSE(search.is(search.lbfgs.converged()));
  CHECK(search.next(0, 1) == 2);
  CHECK(search.best() == 4);

  FedSearch nowhere;
  CHECK(nowhere.next(kNaN, 1) == 3);
  CHECK(nowhere.is(nowhere.lbfgs.stopped()));
  CHECK(nowhere.next(9, 6) == 3);
}

TEST_CASE("lbfgs: stops at steps that change no weight by more than tolerance_change") {
  FedSearch search({.tolerance_change = 2});
  search.next();
  CHECK(search.next() == Approx(2));
  CHECK(search.is(search.lbfgs.stopped()));
  CHECK_FALSE(search.is(search.lbfgs.converged()));
}

TEST_CASE("lbfgs: best weights are restored, and training goes on or starts again") {
  FedSearch search;
  search.lbfgs.restore_best_weights();
  CHECK(get_value(search.w).at<double>(0) == 3);
  search.next();
  search.lbfgs.restore_best_weights();
  CHECK(get_value(search.w).at<double>(0) == 3);
  CHECK(search.next() == Approx(2));  // the first trial once more
  CHECK(search.next() == Approx(0).margin(1e-12));
  search.next();
  CHECK(search.is(search.lbfgs.converged()));
  set_value(search.w, Array{5.});
  CHECK(search.next() == 5);
  search.lbfgs.reset();
  CHECK_FALSE(search.is(search.lbfgs.stopped()));
  CHECK(search.next() == Approx(4));
  CHECK(search.best() == 25);
}

TEST_CASE("lbfgs: copies share the state, whose variables have names") {
  const auto w = variable({1.}, {.name = "w"});
  LBFGS lbfgs({.name = "fit"});
  const LBFGS copy = std::move(lbfgs);  // leaves lbfgs whole
  CHECK(lbfgs.name() == "fit");
  lbfgs.build({w});
  const Results<Tensor> variables = copy.variables();
  CHECK(variables.size() == 17);
  for (const Tensor& v : variables) CHECK(v.name().rfind("fit/", 0) == 0);
  CHECK(same_node(copy.stopped(), lbfgs.stopped()));
  LBFGS source;
  const LBFGS target = std::move(source);
  CHECK(same_node(source.stopped(), target.stopped()));
}

TEST_CASE("lbfgs: misuse") {
  const auto w = variable({1., 2.}, {.name = "w"}), b = variable({1.}, {.name = "b"});
  const auto bound = variable({1.}, {.name = "bound", .constraint = constraints::NonNeg()});
  const auto count = variable({1}, {.dtype = "int32", .name = "count"});
  const Tensor loss = sum(square(w)) + sum(b);
  const LBFGS lbfgs, built;
  built.build({w, b});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { LBFGS({.history_size = 0}); },
       "LBFGS: history_size 0 is less than 1"},
      {throws<ValueError>(), [] { LBFGS({.max_trials = -1}); },
       "LBFGS: max_trials -1 is less than 1"},
      {throws<ValueError>(), [] { LBFGS({.tolerance_grad = -1}); },
       "LBFGS: tolerance_grad -1 is negative or not finite"},
      {throws<ValueError>(), [] { LBFGS({.tolerance_change = kNaN}); },
       "LBFGS: tolerance_change nan is negative or not finite"},
      {throws<ValueError>(), [] { LBFGS({.c1 = 0.9, .c2 = 0.95}); },
       "LBFGS: c1 0.9 and c2 0.95 are not 0 < c1 < c2 < 1 with c1 < 0.5"},
      {throws<ValueError>(), [] { LBFGS({.c2 = 1e-5}); },
       "LBFGS: c1 0.0001 and c2 1e-05 are not 0 < c1 < c2 < 1 with c1 < 0.5"},
      {throws<ValueError>(), [=] { lbfgs.minimize(loss, {}); }, "minimize: weights is empty"},
      {throws<TypeError>(), [=] { lbfgs.build({w, count}); },
       "build: weights[1] 'count' is int32, not floating point"},
      {throws<ValueError>(), [=] { lbfgs.minimize(loss, {w, bound}); },
       "minimize: weights[1] 'bound' has a constraint: L-BFGS minimises without constraints"},
      {throws<TypeError>(), [=] { lbfgs.minimize(count, {w}); },
       "minimize: loss is not a floating-point tensor"},
      {throws<ValueError>(), [=] { lbfgs.minimize(sum(b), {w}); },
       "minimize: the loss does not depend on w, so it has no gradient"},
      {throws<ValueError>(), [=] { lbfgs.updates(loss, {w}, {w, b}); },
       "updates: there are 1 gradients for 2 weights"},
      {throws<ValueError>(), [=] { built.minimize(loss, {b, w}); },
       "minimize: weights are not the 2 variables that the state of 'lbfgs' was built for, in "
       "their order"},
      {throws<ValueError>(), [=] { lbfgs.variables(); },
       "variables: the state of 'lbfgs' is not built: call minimize or build(weights) first"},
      {throws<ValueError>(), [=] { lbfgs.restore_best_weights(); },
       "restore_best_weights: the state of 'lbfgs' is not built: call minimize or build(weights) "
       "first"}});
}

}  // namespace kiln
