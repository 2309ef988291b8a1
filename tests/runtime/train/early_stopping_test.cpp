// Tests kiln/early_stopping.h: decisions of Keras 3.5 (keras_early_stopping.py), weights, misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <limits>
#include <utility>
#include <vector>

namespace kiln {
namespace {

using testing::throws;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("early stopping: decisions of Keras, and the weights of its best epochs") {
  struct Row {
    std::vector<double> values;
    EarlyStoppingOptions options;
    int stopped;  // -1: not
    double best;
    std::int64_t restored;
  };
  const std::vector<double> falling{5, 4, 4.5, 3.8, 3.9, 3.85, 3.7, 4};
  const std::vector<double> rising{1, 2, 3, 2, 5, 4, 4.5};
  const std::vector<Row> rows{{falling, {}, 2, 4, 1},
                              {falling, {.patience = 1}, 2, 4, 1},
                              {falling, {.patience = 2}, 5, 3.8, 3},
                              {falling, {.patience = 3}, -1, 3.7, 6},
                              {falling, {.min_delta = 0.15, .patience = 2}, 5, 3.8, 3},
                              {falling, {.min_delta = -0.25, .patience = 2}, 3, 4, 1},
                              {falling, {.patience = 1, .start_from_epoch = 3}, 4, 3.8, 3},
                              {falling, {.patience = 3, .baseline = 3.75}, 2, 4, 1},
                              {falling, {.patience = 5, .baseline = 3.75}, 4, 3.8, 3},
                              {falling, {.patience = 2, .mode = "max"}, 2, 5, 0},
                              {rising, {.patience = 2, .mode = "max"}, 6, 5, 4},
                              {rising, {.min_delta = 2, .patience = 1, .mode = "max"}, 1, 1, 0},
                              {{kNan, kNan, kNan}, {}, 1, kInfinity, 0},
                              {{kNan, 1, kNan, kNan}, {.patience = 2}, 3, 1, 1},
                              {{3, 3, 3, 3}, {.patience = 3}, 3, 3, 0}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i);
    const Variable weight = variable(-1), count = variable(Array{0, 0}, {.dtype = "int32"});
    EarlyStoppingOptions options = rows[i].options;
    options.restore_best_weights = {weight, count};
    EarlyStopping stopping(options);
    stopping.restore();  // nothing yet
    CHECK(get_value(weight).item<float>() == -1);
    int stopped = -1;
    for (int epoch = 0; stopped < 0 && epoch < static_cast<int>(rows[i].values.size()); ++epoch) {
      batch_set_value({{weight, Array(epoch)}, {count, Array{epoch, 2 * epoch}}});
      if (stopping.should_stop(rows[i].values[static_cast<std::size_t>(epoch)])) stopped = epoch;
    }
    CHECK(stopped == rows[i].stopped);
    CHECK(stopping.best() == rows[i].best);
    CHECK(stopping.best_epoch() == rows[i].restored);
    if (stopped < 0) stopping.restore();
    const auto best = static_cast<std::int32_t>(rows[i].restored);
    CHECK(get_value(weight).item<float>() == static_cast<float>(best));
    CHECK(get_value(count) == Array{best, 2 * best});
  }
}

TEST_CASE("early stopping: copies share the state, and weights are optional") {
  EarlyStopping stopping({.patience = 2});
  CHECK_FALSE(stopping.best_epoch());
  CHECK_FALSE(stopping.should_stop(1));
  EarlyStopping copy = stopping;
  CHECK_FALSE(copy.should_stop(2));
  CHECK(stopping.should_stop(2));
  CHECK(copy.variables().empty());
}

TEST_CASE("early stopping: a resumed training stops as the uninterrupted one") {
  const testing::Scratch scratch;
  const std::vector<double> values{5, 4, 3, 3.5, 3.2, 3.1, 3.3};
  const auto train = [&](std::size_t first, std::size_t end) {
    const Variable weight = variable(-1, {.name = "weight"});
    EarlyStopping stopping({.patience = 4, .restore_best_weights = {weight}});
    std::int64_t epoch = 0;
    const Checkpoint checkpoint(scratch.path("run"),
                                {.variables = {weight, stopping.variables()},
                                 .numbers = {{"epoch", &epoch}, stopping.numbers()}});
    CHECK(checkpoint.restore_if_exists() == (first > 0));
    CHECK(epoch == static_cast<std::int64_t>(first));
    bool stops = false;
    for (std::size_t i = first; i < end && !stops; ++i) {
      set_value(weight, Array(static_cast<float>(i)));
      stops = stopping.should_stop(values[i]);
      ++epoch;
      checkpoint.save();
    }
    CHECK(stopping.best() == 3);
    CHECK(stopping.best_epoch() == 2);
    return std::pair(stops ? epoch : -1, get_value(weight).item<float>());
  };
  CHECK(train(0, 4) == std::pair<std::int64_t, float>(-1, 3.f));
  CHECK(train(4, values.size()) == std::pair<std::int64_t, float>(7, 2.f));
}

TEST_CASE("early stopping: misuse") {
  using testing::Misuse;
  const Tensor w = variable(1), y = w + 1;
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { EarlyStopping({.mode = "auto"}); },
       "EarlyStopping: mode 'auto' is neither 'min' nor 'max'"},
      {throws<ValueError>(), [] { EarlyStopping({.patience = -1}); },
       "EarlyStopping: patience -1 is negative"},
      {throws<ValueError>(), [] { EarlyStopping({.start_from_epoch = -2}); },
       "EarlyStopping: start_from_epoch -2 is negative"},
      {throws<ValueError>(), [] { EarlyStopping({.min_delta = kNan}); },
       "EarlyStopping: min_delta is NaN"},
      {throws<ValueError>(), [] { EarlyStopping({.baseline = kNan}); },
       "EarlyStopping: baseline is NaN"},
      {throws<TypeError>(), [=] { EarlyStopping({.restore_best_weights = {w, y}}); },
       "EarlyStopping: restore_best_weights[1] is not a variable"}});
}

}  // namespace kiln
