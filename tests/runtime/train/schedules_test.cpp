// Tests schedules against the rates that Keras computes (keras_schedules.py), and their misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <array>
#include <limits>

namespace kiln {
namespace {

using namespace schedules;
using testing::throws;

constexpr std::array<int, 7> kSteps{0, 1, 7, 10, 11, 25, 64};

struct ScheduleRow {
  const char* name;
  Schedule schedule;
  std::array<double, 7> expected;
};

void check_rates(const ScheduleRow& row) {
  INFO(row.name);
  const auto done = placeholder({.shape = {}, .dtype = "int64"});
  const Function rate = function({done}, {row.schedule(done)});
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    INFO("step " << kSteps[i]);
    const Array value = rate({kSteps[i]})[0];
    CHECK(value.item<float>() == Approx(row.expected[i]).epsilon(1e-5).margin(1e-8));
  }
}

}  // namespace

TEST_CASE("schedules: compute the rates of Keras") {
  const std::vector<ScheduleRow> rows{
      {"ExponentialDecay",
       ExponentialDecay(0.1, 10, 0.9),
       {0.1, 0.09895193, 0.09289017, 0.09, 0.08905673, 0.07684334, 0.05095091}},
      {"ExponentialDecay, staircase",
       ExponentialDecay(0.1, 10, 0.9, {.staircase = true}),
       {0.1, 0.1, 0.1, 0.09, 0.09, 0.08099999, 0.05314409}},
      {"PiecewiseConstantDecay",
       PiecewiseConstantDecay({7, 10, 30}, {1, 0.5, 0.25, 0.1}),
       {1, 1, 1, 0.5, 0.25, 0.25, 0.1}},
      {"PiecewiseConstantDecay, one boundary",
       PiecewiseConstantDecay({10}, {1, 0.5}),
       {1, 1, 1, 1, 0.5, 0.5, 0.5}},
      {"PolynomialDecay",
       PolynomialDecay(0.1, 20),
       {0.1, 0.095005, 0.065035, 0.05005, 0.045055, 0.0001, 0.0001}},
      {"PolynomialDecay, power",
       PolynomialDecay(0.1, 20, {.end_learning_rate = 0.01, .power = 0.5}),
       {0.1, 0.09772115, 0.08256032, 0.07363961, 0.07037383, 0.01, 0.01}},
      {"PolynomialDecay, cycle",
       PolynomialDecay(0.1, 10, {.end_learning_rate = 0.01, .cycle = true}),
       {0.1, 0.091, 0.037, 0.01, 0.0505, 0.025, 0.01771428}},
      {"InverseTimeDecay",
       InverseTimeDecay(0.1, 10, 0.5),
       {0.1, 0.0952381, 0.07407407, 0.06666667, 0.06451613, 0.04444445, 0.02380953}},
      {"InverseTimeDecay, staircase",
       InverseTimeDecay(0.1, 10, 0.5, {.staircase = true}),
       {0.1, 0.1, 0.1, 0.06666667, 0.06666667, 0.05, 0.025}},
      {"CosineDecay",
       CosineDecay(0.1, 50),
       {0.1, 0.09990134, 0.09524136, 0.09045085, 0.08852567, 0.05, 0}},
      {"CosineDecay, warm-up",
       CosineDecay(0.01, 50, {.alpha = 0.1, .warmup_target = 0.1, .warmup_steps = 10}),
       {0.01, 0.019, 0.073, 0.1, 0.09991121, 0.08145034, 0.01}},
      {"CosineDecayRestarts",
       CosineDecayRestarts(0.1, 10),
       {0.1, 0.09755283, 0.02061074, 0.1, 0.09938442, 0.01464466, 0.005449671}},
      {"CosineDecayRestarts, equal",
       CosineDecayRestarts(0.1, 10, {.t_mul = 1, .m_mul = 0.9, .alpha = 0.1}),
       {0.1, 0.09779754, 0.02854967, 0.091, 0.08901779, 0.04644999, 0.04130492}},
      {"CosineDecayRestarts, 1.5",
       CosineDecayRestarts(0.1, 8, {.t_mul = 1.5, .m_mul = 0.8, .alpha = 0.2}),
       {0.1, 0.09695518, 0.02304482, 0.07971282, 0.07462742, 0.06205537, 0.02013848}}};
  for (const ScheduleRow& row : rows) check_rates(row);
}

TEST_CASE("schedules: every period of CosineDecayRestarts begins with its first rate") {
  const auto done = placeholder({.shape = {}, .dtype = "int64"});
  const Schedule schedule = CosineDecayRestarts(1, 5, {.t_mul = 3, .m_mul = 0.5});
  const Function rate = function({done}, {schedule(done)});
  double first = 1;
  for (int begin = 0, length = 5; begin < 3000; begin += length, length *= 3, first /= 2) {
    INFO("step " << begin);
    CHECK(rate({begin})[0].item<float>() == Approx(first));
    CHECK(rate({begin + length - 1})[0].item<float>() < first / 2);
  }
}

TEST_CASE("schedules: an optimiser takes its steps at the rates of a schedule") {
  const auto w = variable({0.});
  const optimizers::Optimizer sgd = optimizers::SGD({.learning_rate = ExponentialDecay(1, 1, 0.5)});
  const Function train = function({}, {}, {.updates = sgd.updates({ones({1})}, {w})});
  train(), train(), train();
  CHECK(get_value(w).at<float>(0) == -1.75f);
  CHECK(sgd.learning_rate() == 0.125);
}

TEST_CASE("schedules: misuse") {
  const double inf = std::numeric_limits<double>::infinity();
  const Schedule late = PiecewiseConstantDecay({std::int64_t{1} << 40}, {1, 2});
  const Tensor step = variable(0, {.dtype = "int32"});
  CHECK_THROWS_WITH(late(step), Catch::Matchers::Matches("PiecewiseConstantDecay: .*1099511627776.*"
                                                         "\\[.*schedules_test.cpp:107\\]"));
  testing::run(std::vector<testing::Misuse>{
      {throws<ValueError>(), [] { ExponentialDecay(-1, 10, 0.5); },
       "ExponentialDecay: initial_learning_rate -1 is negative or not finite"},
      {throws<ValueError>(), [] { ExponentialDecay(1, 0, 0.5); },
       "ExponentialDecay: decay_steps 0 is not positive"},
      {throws<ValueError>(), [=] { InverseTimeDecay(1, 10, inf); },
       "InverseTimeDecay: decay_rate inf is negative or not finite"},
      {throws<ValueError>(), [] { PolynomialDecay(1, 10, {.end_learning_rate = -1}); },
       "PolynomialDecay: end_learning_rate -1 is negative or not finite"},
      {throws<ValueError>(), [] { PolynomialDecay(1, 10, {.power = -1}); },
       "PolynomialDecay: power -1 is negative or not finite"},
      {throws<ValueError>(), [] { PiecewiseConstantDecay({1}, {1}); },
       "PiecewiseConstantDecay: there are 1 values for 1 boundaries, not one more"},
      {throws<ValueError>(), [] { PiecewiseConstantDecay({3, 2}, {1, 2, 3}); },
       "PiecewiseConstantDecay: boundaries 3 and 2 are not in ascending order"},
      {throws<ValueError>(), [] { PiecewiseConstantDecay({3}, {1, -2}); },
       "PiecewiseConstantDecay: values -2 is negative or not finite"},
      {throws<ValueError>(), [] { CosineDecay(1, 10, {.alpha = 2}); },
       "CosineDecay: alpha 2 is outside [0, 1]"},
      {throws<ValueError>(), [] { CosineDecay(1, 10, {.warmup_steps = -1}); },
       "CosineDecay: warmup_steps -1 is negative or not finite"},
      {throws<ValueError>(), [] { CosineDecayRestarts(1, -1); },
       "CosineDecayRestarts: first_decay_steps -1 is not positive"},
      {throws<ValueError>(), [] { CosineDecayRestarts(1, 5, {.t_mul = 0.5}); },
       "CosineDecayRestarts: t_mul 0.5 is below 1"},
      {throws<ValueError>(), [=] { CosineDecayRestarts(1, 5, {.m_mul = inf}); },
       "CosineDecayRestarts: m_mul inf is negative or not finite"}});
}

}  // namespace kiln
