// Tests kiln/checkpoint.h: a training that is stopped, restored and goes on computes the bits of an
// uninterrupted one.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <kiln/checkpoint.h>
#include <kiln/train.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>

namespace kiln {
namespace {

using testing::contents_of;
using testing::Misuse;
using testing::Scratch;
using testing::throws;

constexpr int kEpochs = 6, kBatches = 4, kRows = 8;

/// The rows of epoch `epoch` in an order that depends on nothing else: multiples of an odd step.
std::vector<std::size_t> order_of(int epoch) {
  std::vector<std::size_t> order;
  const auto step = static_cast<std::size_t>(2 * epoch + 3);
  for (std::size_t i = 0; i < kBatches * kRows; ++i) order.push_back(i * step % (kBatches * kRows));
  return order;
}

/// Batch `batch` of epoch `epoch`: inputs (rows, 3) and targets (rows, 1).
std::vector<Array> batch_of(int epoch, int batch) {
  std::vector<float> inputs, targets;
  const std::vector<std::size_t> order = order_of(epoch);
  for (int row = 0; row < kRows; ++row) {
    const auto x = static_cast<float>(order[static_cast<std::size_t>(batch * kRows + row)]) / 32;
    inputs.insert(inputs.end(), {x, x * x, 1 - x});
    targets.push_back(std::sin(5 * x));
  }
  return {Array(inputs, {kRows, 3}), Array(targets, {kRows, 1})};
}

/// Adam (Kingma and Ba 2014), of variables with names.
struct HandWrittenAdam {
  std::vector<Variable> variables;
  std::vector<UpdateOp> updates;

  HandWrittenAdam(const Tensor& loss, const std::vector<Tensor>& weights) {
    const Variable steps = variable(Array(0), {.dtype = "int64", .name = "adam/steps"});
    variables.push_back(steps);
    const Tensor next = steps + 1, t = cast(next, "float32");
    const Tensor rate = 0.01f * sqrt(1 - pow(constant(0.999), t)) / (1 - pow(constant(0.9), t));
    updates.push_back(update(steps, next));
    const auto slopes = gradients(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) add(weights[i], slopes[i], rate);
  }

 private:
  void add(const Tensor& weight, const Tensor& slope, const Tensor& rate) {
    const Array zero = Array::zeros(get_variable_shape(weight));
    const Variable m = variable(zero, {.name = "adam/m/" + weight.name()});
    const Variable v = variable(zero, {.name = "adam/v/" + weight.name()});
    const Tensor new_m = 0.9f * m + 0.1f * slope, new_v = 0.999f * v + 0.001f * square(slope);
    updates.push_back(update(m, new_m));
    updates.push_back(update(v, new_v));
    updates.push_back(update(weight, weight - rate * new_m / (sqrt(new_v) + 1e-7f)));
    variables.insert(variables.end(), {m, v});
  }
};

/// A network with dropout, and its loop.
struct Training {
  RandomState random;
  std::vector<Tensor> weights;
  std::vector<Variable> state;
  Function step;
  int epoch = 0, batch = 0;  // done
  double best = std::numeric_limits<double>::infinity();

  /// `own`: the model and its draws use a state of their own, else the process's.
  explicit Training(bool own) : random(own ? RandomState(11) : RandomState::of_process()) {
    const RandomScope scope(random);
    const auto x = placeholder({.shape = {None, 3}}), y = placeholder({.shape = {None, 1}});
    const Variable w = random_normal_variable({3, 16}, 0, 0.5, {.name = "w"});
    const Variable b = variable(Array::zeros({16}), {.name = "b"});
    const Variable out = random_normal_variable({16, 1}, 0, 0.5, {.name = "out"});
    weights = {w, b, out};
    const Tensor hidden = dropout(relu(bias_add(dot(x, w), b)), 0.3);
    const Tensor loss = mean(square(dot(hidden, out) - y));
    const HandWrittenAdam adam(loss, weights);
    state = adam.variables;
    step = function({x, y}, {loss}, {.updates = adam.updates});
  }
  Training(const Training&) = delete;  // the checkpoint refers to its numbers

  Checkpoint checkpoint(const std::string& path) {
    return Checkpoint(path, {.variables = {weights, state},
                             .numbers = {{"epoch", &epoch}, {"batch", &batch}, {"best", &best}},
                             .random = {random}});
  }

  /// Trains until `stop` steps are done in total.
  void run_until(int stop) {
    while (epoch * kBatches + batch < stop) {
      best = std::min(best, double{step(batch_of(epoch, batch))[0].item<float>()});
      if (++batch < kBatches) continue;
      batch = 0;
      ++epoch;
    }
  }

  std::vector<Array> values() const {
    std::vector<Array> all = batch_get_value(weights);
    for (const Variable& variable : state) all.push_back(get_value(variable));
    all.push_back(Array(best));
    return all;
  }
};

constexpr int kAllSteps = kEpochs * kBatches;

std::vector<Array> uninterrupted(bool own) {
  set_random_seed(11);
  Training training(own);
  training.run_until(kAllSteps);
  return training.values();
}

/// Draws, and takes seeds, of the process's state.
void disturb() {
  random_uniform({3});
  eval(random_uniform({3}));
}

const char* const kPathVariable = "KILN_TEST_CHECKPOINT";

}  // namespace

TEST_CASE("checkpoint: a resumed training computes the bits of an uninterrupted one") {
  for (const bool own : {true, false}) {
    const std::vector<Array> expected = uninterrupted(own);
    for (const int stop : {3 * kBatches, 2 * kBatches + 1}) {
      INFO("own " << own << ", stopped after " << stop);
      const Scratch scratch;
      const std::string path = scratch.path("run");
      set_random_seed(11);
      {
        Training training(own);
        CHECK_FALSE(training.checkpoint(path).restore_if_exists());
        training.run_until(stop);
        training.checkpoint(path).save();
        training.run_until(stop + 3);  // what is lost by the interruption
      }
      if (own) disturb();
      set_random_seed(own ? 99 : 11);
      Training training(own);
      if (!own) disturb();
      CHECK(training.checkpoint(path).restore_if_exists());
      CHECK(training.epoch * kBatches + training.batch == stop);
      training.run_until(kAllSteps);
      CHECK(training.values() == expected);
      // Without the checkpoint's random state the masks differ.
      training.checkpoint(path).restore();
      training.random.set_position({.seed = 11});
      training.run_until(kAllSteps);
      CHECK_FALSE(training.values() == expected);
    }
  }
}

TEST_CASE("checkpoint: restores the process's state beside those of the training") {
  const Scratch scratch;
  set_random_seed(5);
  const Checkpoint checkpoint(scratch.path("run"), {.random = {RandomState(3)}});
  const Function draws = function({}, {random_uniform({2}, {.seed = 1})});  // .random is forgotten
  draws();
  checkpoint.save();
  const Array next = draws()[0];
  draws();
  checkpoint.restore();
  CHECK(draws()[0] == next);
}

TEST_CASE("checkpoint: the process that goes on", "[.][go_on]") {
  const char* const path = std::getenv(kPathVariable);
  if (path == nullptr) return;  // not run by the test below
  Training training(true);
  const Checkpoint checkpoint = training.checkpoint(path);
  checkpoint.restore();
  training.run_until(kAllSteps);
  checkpoint.save();
}

TEST_CASE("checkpoint: a training goes on in another process") {
  const Scratch scratch;
  const std::string path = scratch.path("run");
  {
    Training training(true);
    training.run_until(9);
    training.checkpoint(path).save();
  }
  REQUIRE(testing::in_new_process("[go_on]", kPathVariable, path.c_str()) == 0);
  Training training(true);
  training.checkpoint(path).restore();
  CHECK(training.epoch == kEpochs);
  CHECK(training.values() == uninterrupted(true));
}

TEST_CASE("checkpoint: numbers of every type are restored exactly") {
  const Scratch scratch;
  std::int8_t small = -128;
  std::uint64_t large = std::numeric_limits<std::uint64_t>::max();
  bool yes = true;
  float third = 1.f / 3;
  double tiny = 5e-324, infinite = -std::numeric_limits<double>::infinity(), none = std::nan("");
  const Checkpoint checkpoint(scratch.path("run"), {.numbers = {{"small", &small},
                                                                {"large", &large},
                                                                {"yes", &yes},
                                                                {"third", &third},
                                                                {"tiny", &tiny},
                                                                {"infinite", &infinite},
                                                                {"none", &none}}});
  checkpoint.save();
  small = 0, large = 0, yes = false, third = 0, tiny = 0, infinite = 0, none = 0;
  checkpoint.restore();
  CHECK(small == -128);
  CHECK(large == std::numeric_limits<std::uint64_t>::max());
  CHECK(yes);
  CHECK(third == 1.f / 3);
  CHECK(tiny == 5e-324);
  CHECK(infinite == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(none));
}

TEST_CASE("checkpoint: a failed save leaves the older file") {
  const Scratch scratch;
  int epoch = 1;
  const Checkpoint checkpoint(scratch.path("run"), {.numbers = {{"epoch", &epoch}}});
  checkpoint.save();
  const std::string before = contents_of(checkpoint.path());
  const Variable reserved = variable(Array{1.f}, {.name = "__metadata__"});
  const Checkpoint failing(scratch.path("run"), {.variables = {reserved}});
  CHECK_THROWS_AS(failing.save(), ValueError);
  CHECK(contents_of(checkpoint.path()) == before);
  CHECK(scratch.files() == 1);
}

}  // namespace kiln
