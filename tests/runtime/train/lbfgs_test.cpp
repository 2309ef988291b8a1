// Tests L-BFGS against minima and numbers of evaluations of SciPy and torch (scipy_lbfgs.py).
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <cmath>
#include <functional>

namespace kiln {
namespace {

using optimizers::LBFGS;
using optimizers::LBFGSOptions;
using Loss = std::function<Tensor(const Tensor&, const char* dtype)>;

Tensor rosenbrock(const Tensor& x, const char*) {
  const Tensor low = x.slice(0, -1), high = x.slice(1, {});
  return sum(100 * square(high - square(low)) + square(1 - low));
}

Tensor ill_conditioned(const Tensor& x, const char* dtype) {
  std::vector<double> scales;
  for (int i = 0; i < 50; ++i) scales.push_back(std::pow(10, 4. * i / 49));
  return 0.5 * sum(constant(Array(scales, {50}), {.dtype = dtype}) * square(x - 1));
}

Tensor logistic_regression(const Tensor& w, const char* dtype) {
  std::vector<double> inputs, labels;
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 4; ++j) inputs.push_back(std::sin(1.7 * i * (j + 1) + j));
    labels.push_back(std::sin(2.3 * i) + std::sin(1.7 * i) > 0.3 ? 1 : 0);
  }
  const Tensor x = constant(Array(inputs, {60, 4}), {.dtype = dtype});
  const Tensor logits = dot(x, w.slice(0, 4)) + w[4];
  const Tensor y = constant(Array(labels, {60}), {.dtype = dtype});
  return mean(softplus(logits) - y * logits) + 0.005 * sum(square(w));
}

std::vector<double> rosenbrock_start(int n) {
  std::vector<double> start;
  for (int i = 0; i < n / 2; ++i) start.insert(start.end(), {-1.2, 1});
  return start;
}

/// A training of variable "w" with its state.
struct Minimisation {
  Variable w;
  LBFGS lbfgs;
  Function train;

  Minimisation(const Loss& loss, const std::vector<double>& start, const char* dtype,
               const LBFGSOptions& options = {}, const StringArgument& backend = {})
      : w(variable(Array(start, {static_cast<std::int64_t>(start.size())}),
                   {.dtype = dtype, .name = "w"})),
        lbfgs(options) {
    const Tensor value = loss(w, dtype);
    train = function({}, {value}, {.updates = lbfgs.minimize(value, {w}), .backend = backend});
  }
  bool is(const Tensor& flag) const { return get_value(flag).item<bool>(); }
  /// Calls it until it stops, and returns the number of calls.
  int run(int most = 2000) {
    int calls = 0;
    for (; calls < most && !is(lbfgs.stopped()); ++calls) train();
    return calls;
  }
  double at(std::size_t i) const {
    return eval(cast(w, "float64")).at<double>(static_cast<std::int64_t>(i));
  }
};

struct MinimumRow {
  const char* name;
  Loss loss;
  std::vector<double> start;
  double tolerance;
  int scipy_evaluations, torch_evaluations;
  std::vector<double> minimum;
};

std::vector<MinimumRow> minimum_rows() {
  return {{"Rosenbrock, 2", rosenbrock, rosenbrock_start(2), 1e-5, 45, 44, {1, 1}},
          {"Rosenbrock, 10", rosenbrock, rosenbrock_start(10), 1e-5, 92, 89,
           std::vector<double>(10, 1)},
          {"quadratic, condition 1e4", ill_conditioned, std::vector<double>(50), 1e-5, 720, 2437,
           std::vector<double>(50, 1)},
          {"logistic regression",
           logistic_regression,
           std::vector<double>(5),
           1e-8,
           12,
           13,
           {2.398601, 0.5012798, -0.6907287, -0.6791507, -0.7437135}}};
}

}  // namespace

TEST_CASE("lbfgs: reaches the minima of SciPy in about as many evaluations") {
  for (const MinimumRow& row : minimum_rows()) {
    INFO(row.name);
    Minimisation problem(row.loss, row.start, "float64", {.tolerance_grad = row.tolerance});
    const int calls = problem.run();
    INFO(calls << " calls; SciPy " << row.scipy_evaluations << ", torch " << row.torch_evaluations);
    CHECK(problem.is(problem.lbfgs.converged()));
    CHECK(calls <= row.scipy_evaluations * 5 / 4 + 1);
    CHECK(get_value(problem.lbfgs.iterations()).item<std::int64_t>() < calls);
    for (std::size_t i = 0; i < row.minimum.size(); ++i) {
      CHECK(problem.at(i) == Approx(row.minimum[i]).margin(1e-5));
    }
  }
}

TEST_CASE("lbfgs: float32 reaches the minima on every backend, with any history") {
  const LBFGSOptions options{.tolerance_grad = 1e-4};
  LBFGSOptions shortest = options;
  shortest.history_size = 1;
  for (const char* const backend : {"cpu", "reference"}) {
    INFO(backend);
    Minimisation curved(rosenbrock, rosenbrock_start(10), "float32", options, backend);
    CHECK(curved.run() < 200);
    for (std::size_t i = 0; i < 10; ++i) CHECK(curved.at(i) == Approx(1).margin(1e-4));
    Minimisation regression(logistic_regression, std::vector<double>(5), "float32", shortest,
                            backend);
    CHECK(regression.run() < 50);
    CHECK(regression.at(0) == Approx(2.398601).margin(1e-2));
  }
}

TEST_CASE("lbfgs: weights of several dtypes and shapes are one point") {
  const auto a = variable({{1., 2.}, {3., 4.}}, {.name = "a"});
  const auto b = variable(5, {.dtype = "float16"}), c = variable({6.}, {.dtype = "float64"});
  const Tensor loss = sum(square(a - 1)) + cast(square(b - 2), "float32") +
                      sum(cast(square(c - cast(b, "float64")), "float32"));
  const LBFGS lbfgs({.tolerance_grad = 1e-3});
  const Function train = function({}, {loss}, {.updates = lbfgs.minimize(loss, {a, b, c})});
  for (int call = 0; call < 30 && !get_value(lbfgs.stopped()).item<bool>(); ++call) train();
  CHECK(eval(all(abs(a - 1) < 1e-2)).item<bool>());
  CHECK(eval(cast(b, "float32")).item<float>() == Approx(2).margin(1e-2));
  CHECK(get_value(c).at<double>(0) == Approx(2).margin(1e-2));
  CHECK(dtype(lbfgs.variables().back()) == "float64");
}

TEST_CASE("lbfgs: a checkpoint continues with the bits of the uninterrupted run") {
  const testing::Scratch scratch;
  const auto make = [] {
    return Minimisation(rosenbrock, rosenbrock_start(10), "float32", {.history_size = 4});
  };
  const auto variables = [](const Minimisation& training) {
    std::vector<Tensor> all = training.lbfgs.variables();
    all.push_back(training.w);
    return all;
  };
  Minimisation whole = make(), first = make(), second = make();
  whole.run(60);
  for (int stop : {1, 7, 30}) {  // from the start, within the first line searches, later
    INFO(stop);
    first.lbfgs.reset();
    set_value(first.w,
              Array(std::vector<float>{-1.2f, 1, -1.2f, 1, -1.2f, 1, -1.2f, 1, -1.2f, 1}, {10}));
    first.run(stop);
    const std::string path = scratch.path("run");
    Checkpoint(path, {.variables = variables(first)}).save();
    Checkpoint(path, {.variables = variables(second)}).restore();
    second.run(60 - stop);
    const std::vector<Array> want = batch_get_value(variables(whole));
    const std::vector<Array> have = batch_get_value(variables(second));
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(have[i] == want[i]);
  }
}

}  // namespace kiln
