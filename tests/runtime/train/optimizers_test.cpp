// Tests optimisers against the weights that Keras computes (keras_optimizers.py).
#include "tests/support/catch.h"

#include <kiln/train.h>

#include <array>
#include <functional>

namespace kiln {
namespace {

using Weights = std::array<double, 3>;
using optimizers::Optimizer;

/// Weights w[0], w[1] and b after steps 1, 5 and 20.
struct KerasRow {
  const char* name;
  Optimizer optimizer;
  std::array<Weights, 3> expected;
  Constraint constraint = {};
  bool decays_b_only = false;
};

/// A linear regression, as in keras_optimizers.py.
class Regression {
 public:
  explicit Regression(const Constraint& constraint = {})
      : w(variable({{0.5}, {-1.}}, {.name = "w", .constraint = constraint})),
        b(variable({0.2}, {.name = "b"})) {
    const Tensor x = constant({{1., 2.}, {-1., 0.5}, {0.3, -0.7}}),
                 y = constant({{1.}, {-0.5}, {2.}});
    loss = mean(square(dot(x, w) + b - y));
  }
  Weights values() const {
    const Array a = get_value(w), c = get_value(b);
    return {a.at<float>(0, 0), a.at<float>(1, 0), c.at<float>(0)};
  }

  Variable w, b;
  Tensor loss;
};

void check_row(const KerasRow& row) {
  INFO(row.name);
  const Regression problem(row.constraint);
  if (row.decays_b_only) row.optimizer.exclude_from_weight_decay({problem.w});
  const Function train =
      function({}, {}, {.updates = row.optimizer.minimize(problem.loss, {problem.w, problem.b})});
  int done = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (; done < std::array{1, 5, 20}[i]; ++done) train();
    INFO("after step " << done);
    const Weights values = problem.values();
    for (std::size_t j = 0; j < 3; ++j) {  // 1 - 0.999^t in float32 has an error of 6e-5
      CHECK(values[j] == Approx(row.expected[i][j]).epsilon(2e-5).margin(1e-6));
    }
  }
  CHECK(get_value(row.optimizer.iterations()).item<std::int64_t>() == 20);
}

/// Makes an optimiser for each dtype of weights.
struct DTypeRow {
  const char* name;
  std::function<Optimizer()> make;
};

/// Weights of `type` after 10 steps from 0 along gradients that float16 and bfloat16 represent.
Array stepped(const Optimizer& optimizer, const std::string& type) {
  const auto w = variable({0., 0., 0.}, {.dtype = type});
  const Tensor gradient = constant({300., -0.0078125, 0.5}, {.dtype = type});
  const Function train = function({}, {}, {.updates = optimizer.updates({gradient}, {w})});
  for (int i = 0; i < 10; ++i) train();
  return eval(cast(w, "float32"));
}

/// tolerance: relative, of 10 roundings of average size.
void check_dtype(const DTypeRow& row, const char* type, double tolerance) {
  INFO(row.name << " of " << type);
  const Array want = stepped(row.make(), "float32"), have = stepped(row.make(), type);
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(want.at<float>(i) != 0);
    CHECK(have.at<float>(i) == Approx(want.at<float>(i)).epsilon(tolerance).margin(1e-6));
  }
}

}  // namespace

TEST_CASE("optimizers: SGD and Adam compute the weights of Keras") {
  using optimizers::Adam, optimizers::SGD;
  const std::vector<KerasRow> rows{
      {"SGD",
       SGD({.learning_rate = 0.1}),
       {{{0.6523333, -0.7276667, 0.4366667},
         {0.9260206, -0.473433, 0.8198347},
         {1.190351, -0.6373844, 1.06904}}}},
      {"SGD, momentum",
       SGD({.learning_rate = 0.1, .momentum = 0.9}),
       {{{0.6523333, -0.7276667, 0.4366667},
         {1.405892, -0.1634707, 1.469179},
         {1.025161, -0.6661369, 0.943581}}}},
      {"SGD, Nesterov",
       SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
       {{{0.7894333, -0.4825667, 0.6496667},
         {1.308532, -0.6310115, 1.244165},
         {1.192655, -0.6442983, 1.081295}}}},
      {"SGD, weight decay",
       SGD({.learning_rate = 0.1, .weight_decay = 0.5}),
       {{{0.6273333, -0.6776667, 0.4266667},
         {0.7784775, -0.3688172, 0.7049912},
         {0.8277081, -0.3853725, 0.7824963}}}},
      {"SGD, clipnorm",
       SGD({.learning_rate = 0.1, .clipnorm = 0.5}),
       {{{0.524409, -0.9563628, 0.25},
         {0.628287, -0.7854969, 0.45},
         {1.09649, -0.5716057, 1.009356}}}},
      {"SGD, clipvalue",
       SGD({.learning_rate = 0.1, .clipvalue = 0.25}),
       {{{0.525, -0.975, 0.225},
         {0.6249999, -0.8750001, 0.325},
         {0.9999995, -0.5006169, 0.6999999}}}},
      {"SGD, global_clipnorm",
       SGD({.learning_rate = 0.1, .global_clipnorm = 0.5}),
       {{{0.5194481, -0.9652317, 0.2302148},
         {0.5995269, -0.8295583, 0.3534006},
         {0.9800362, -0.4952642, 0.8781645}}}},
      {"SGD, NonNeg",
       SGD({.learning_rate = 0.1}),
       {{{0.6523333, -0, 0.4366667}, {0.7768912, -0, 0.6286169}, {0.8874529, -0, 0.7419554}}},
       constraints::NonNeg()},
      {"Adam",
       Adam({.learning_rate = 0.1}),
       {{{0.5999991, -0.9000008, 0.2999992},
         {0.9818926, -0.52565, 0.6853709},
         {1.253408, -0.6461946, 1.152076}}}},
      {"Adam, AMSGrad",
       Adam({.learning_rate = 0.1, .beta_1 = 0.8, .beta_2 = 0.9, .amsgrad = true}),
       {{{0.6, -0.9, 0.3}, {0.9788308, -0.5310501, 0.6836551}, {1.2106, -0.6857238, 1.074051}}}},
      {"Adam, epsilon",
       Adam({.learning_rate = 0.1, .epsilon = 0.5}),
       {{{0.5087877, -0.985307, 0.2130193},
         {0.5672832, -0.8926901, 0.2968435},
         {0.8645346, -0.4880375, 0.703733}}}}};
  for (const KerasRow& row : rows) check_row(row);
}

TEST_CASE("optimizers: variants of Adam compute the weights of Keras") {
  using namespace optimizers;
  const std::vector<KerasRow> rows{
      {"AdamW",
       AdamW({.learning_rate = 0.1}),
       {{{0.5997992, -0.8996007, 0.2999192},
         {0.9805076, -0.5241233, 0.6845655},
         {1.248942, -0.643219, 1.147847}}}},
      {"AdamW, decay of b only",
       AdamW({.learning_rate = 0.1, .weight_decay = 0.5}),
       {{{0.5999991, -0.9000008, 0.2899992},
         {0.9822946, -0.5239113, 0.5952274},
         {1.265026, -0.5336739, 0.8288287}}},
       {},
       true},
      {"Adamax",
       Adamax({.learning_rate = 0.1}),
       {{{0.6, -0.9, 0.3}, {0.9185936, -0.5968776, 0.6272427}, {1.274592, -0.4369057, 1.080236}}}},
      {"Nadam",
       Nadam({.learning_rate = 0.1}),
       {{{0.6062781, -0.8937219, 0.3062781},
         {0.8514191, -0.6601918, 0.5573294},
         {1.269949, -0.5388888, 1.097553}}}}};
  for (const KerasRow& row : rows) check_row(row);
}

TEST_CASE("optimizers: RMSprop, Adagrad and Adadelta compute the weights of Keras") {
  using namespace optimizers;
  const std::vector<KerasRow> rows{
      {"RMSprop",
       RMSprop({.learning_rate = 0.1}),
       {{{0.8162277, -0.6837722, 0.5162277},
         {1.124511, -0.5246124, 0.8898627},
         {1.271858, -0.6964368, 1.121111}}}},
      {"RMSprop, momentum",
       RMSprop({.learning_rate = 0.05, .rho = 0.8, .momentum = 0.5}),
       {{{0.6118034, -0.8881966, 0.3118034},
         {1.039803, -0.4959817, 0.7571635},
         {1.276996, -0.7032148, 1.127982}}}},
      {"RMSprop, centered",
       RMSprop({.learning_rate = 0.05, .centered = true}),
       {{{0.6666666, -0.8333333, 0.3666666},
         {0.9724927, -0.5697598, 0.6927616},
         {1.224325, -0.6378568, 1.056847}}}},
      {"Adagrad",
       Adagrad({.learning_rate = 0.5}),
       {{{0.9895628, -0.5033371, 0.6955955},
         {1.178442, -0.5799651, 0.990499},
         {1.272394, -0.697172, 1.1222}}}},
      {"Adagrad, accumulator",
       Adagrad({.learning_rate = 0.5, .initial_accumulator_value = 1, .epsilon = 0.1}),
       {{{0.9118294, -0.5334061, 0.6571237},
         {1.14893, -0.5590219, 0.970987},
         {1.269469, -0.6944452, 1.119475}}}},
      {"Adadelta",
       Adadelta({.learning_rate = 50}),
       {{{0.5707107, -0.9292893, 0.2707107},
         {0.8058218, -0.7062981, 0.5122504},
         {1.125037, -0.5457327, 0.9011474}}}}};
  for (const KerasRow& row : rows) check_row(row);
}

TEST_CASE("optimizers: float16 and bfloat16 weights move as float32 ones") {
  using namespace optimizers;
  const std::vector<DTypeRow> rows{
      {"SGD", [] { return SGD(); }},
      {"SGD, Nesterov", [] { return SGD({.momentum = 0.9, .nesterov = true}); }},
      {"SGD, weight decay", [] { return SGD({.weight_decay = 0.1}); }},
      {"Adam", [] { return Adam(); }},
      {"Adam, AMSGrad", [] { return Adam({.amsgrad = true}); }},
      {"AdamW", [] { return AdamW(); }},
      {"Adamax", [] { return Adamax(); }},
      {"Nadam", [] { return Nadam(); }},
      {"RMSprop", [] { return RMSprop(); }},
      {"RMSprop, centered", [] { return RMSprop({.momentum = 0.5, .centered = true}); }},
      {"Adagrad", [] { return Adagrad({.learning_rate = 0.1}); }},
      {"Adadelta", [] { return Adadelta({.learning_rate = 1}); }}};
  for (const DTypeRow& row : rows) {
    check_dtype(row, "float16", 10 * 0x1p-12);
    check_dtype(row, "bfloat16", 10 * 0x1p-9);
  }
}

}  // namespace kiln
