// Tests that an rnn loop and its unrolled form have the same values and gradients for all options.
// Plain loops and misuse are in rnn_plain_test.cpp.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include <cmath>

namespace kiln::test {
namespace {

constexpr std::int64_t kRnnSamples = 2, kRnnTime = 3, kFeatures = 2;

Array ramp(std::vector<std::int64_t> dims, double scale, double from) {
  Array array = Array::zeros(std::move(dims), DType::Float64);
  double at = from;
  for (double& element : array.as<double>()) {
    element = scale * std::sin(at);
    at += 1.3;
  }
  return array;
}

Tensor wide(const Array& value) { return constant(value, {.dtype = "float64"}); }
Tensor input(std::vector<std::int64_t> dims) {
  return placeholder({.shape = dims, .dtype = "float64"});
}

Function compiled(const Tensors& inputs, const Tensors& outputs) {
  return function(inputs, outputs, {.backend = tested_backend()});
}

struct Setting {
  const char* name;
  bool go_backwards = false, mask = false, constants = false;
  std::optional<std::int64_t> input_length = {};
};

constexpr Setting kSettings[] = {
    {"plain"},
    {"backwards", true},
    {"masked", false, true},
    {"masked backwards", true, true},
    {"constants", false, false, true},
    {"backwards constants", true, false, true},
    {"all", true, true, true},
    {"bounded", false, false, false, 2},
    {"bounded masked", false, true, false, 2},
    {"bounded backwards", true, false, false, 2},
    {"bounded all", true, true, true, 2},
    {"one step of all", true, true, true, 1},
};

Array mask_array() { return Array(std::vector<std::int32_t>{0, 1, 1, 1, 0, 1}, {2, 3}); }

/// Values, first and second order gradients of a small network of that setting.
std::vector<Array> results_of(const Setting& setting, bool unroll) {
  const Tensor x = input({kRnnSamples, kRnnTime, kFeatures}), h = input({kRnnSamples, kFeatures});
  const Tensor w = input({kFeatures, kFeatures}), scale = input({kRnnSamples, kFeatures});
  RnnOptions options{};
  options.go_backwards = setting.go_backwards;
  if (setting.mask) options.mask = constant(mask_array(), {.dtype = "int32"});
  if (setting.constants) options.constants = {scale};
  options.unroll = unroll;
  options.input_length = setting.input_length;
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& states) -> StepResult {
    Tensor next = tanh(dot(states[0], w) + in);
    if (setting.constants) next = next * states[1];
    return {next * 2.0, {next}};
  };
  const RnnResult run = rnn(step, x, {h}, options);
  const Tensor loss = sum(square(run.outputs)) + sum(run.last_output) + sum(run.new_states[0]);
  std::vector<Tensor> inputs{x, h, w};
  if (setting.constants) inputs.push_back(scale);
  std::vector<Tensor> outputs{run.last_output, run.outputs, run.new_states[0]};
  const std::vector<Tensor> first = gradients(loss, inputs);
  Tensor of_gradients = wide(0.0);
  for (const Tensor& gradient : first) of_gradients = of_gradients + sum(square(gradient));
  const std::vector<Tensor> second = gradients(of_gradients, inputs);
  outputs.insert(outputs.end(), first.begin(), first.end());
  outputs.insert(outputs.end(), second.begin(), second.end());
  std::vector<Array> feeds{ramp({kRnnSamples, kRnnTime, kFeatures}, 0.8, 0.1),
                           ramp({kRnnSamples, kFeatures}, 0.5, 0.7),
                           ramp({kFeatures, kFeatures}, 0.9, 0.3)};
  if (setting.constants) feeds.push_back(ramp({kRnnSamples, kFeatures}, 0.7, 0.2));
  return compiled(inputs, outputs)(feeds);
}

TEST_CASE("rnn: an unrolled loop has the values and gradients of the loop") {
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    const auto loop = results_of(setting, false), copies = results_of(setting, true);
    REQUIRE(loop.size() == copies.size());
    for (std::size_t i = 0; i < loop.size(); ++i) {
      INFO("result " << i);
      CHECK(difference(loop[i], copies[i], 1e-10) == "");
    }
  }
}

/// The outputs of a loop over x[0] with the state x[1], the weights x[2] and the constants x[3].
Tensor smooth_loop(const Tensors& x, RnnOptions options) {
  if (x.size() > 3) options.constants = {x[3]};
  const auto step = [&](const Tensor& in, const Tensors& states) {
    Tensor next = tanh(dot(states[0], x[2]) + in);
    if (states.size() > 1) next = next * states[1];
    return StepResult{next, {next}};
  };
  return rnn(step, x[0], {x[1]}, options).outputs;
}

RnnOptions masked_options() {
  RnnOptions options{};
  options.mask = constant(mask_array(), {.dtype = "int32"});
  return options;
}

TEST_CASE("rnn: the second order gradient is the derivative of the first") {
  using Shapes = std::vector<std::vector<std::int64_t>>;
  const Shapes plain{{2, 3, 2}, {2, 2}, {2, 2}}, constants{{2, 3, 2}, {2, 2}, {2, 2}, {2, 2}};
  const SmoothRow rows[] = {
      {"rnn", plain, [](const Tensors& x) { return smooth_loop(x, {}); }, -1, 1},
      {"rnn masked", plain, [](const Tensors& x) { return smooth_loop(x, masked_options()); }, -1,
       1},
      {"rnn backwards constants", constants,
       [](const Tensors& x) {
         RnnOptions options{};
         options.go_backwards = true;
         return smooth_loop(x, options);
       },
       -1, 1},
      {"rnn bounded masked backwards constants", constants,
       [](const Tensors& x) {
         RnnOptions options = masked_options();
         options.go_backwards = true;
         options.input_length = 2;
         return smooth_loop(x, options);
       },
       -1, 1},
  };
  for (const SmoothRow& row : rows) run(row);
}

/// Adds the input to the state.
StepResult adding(const Tensor& in, const std::vector<Tensor>& states) {
  const Tensor next = states[0] + in;
  return {next * 10.0, {next}};
}

TEST_CASE("rnn: masked steps repeat the output and keep the states") {
  const Tensor x = wide(Array(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3, 1}));
  const Tensor start = wide(Array(std::vector<double>{100, 200}, {2, 1}));
  for (const bool unroll : {false, true}) {
    INFO("unroll " << unroll);
    RnnOptions options = masked_options();
    options.unroll = unroll;
    const RnnResult run = rnn(adding, x, {start}, options);
    const auto result = compiled({}, {run.outputs, run.new_states[0], run.last_output})();
    const std::vector<double> outputs{0, 1020, 1050, 2040, 2040, 2100};
    CHECK(difference(result[0], Array(outputs, {2, 3, 1}), 0) == "");
    CHECK(difference(result[1], Array(std::vector<double>{105, 210}, {2, 1}), 0) == "");
    CHECK(difference(result[2], Array(std::vector<double>{1050, 2100}, {2, 1}), 0) == "");
  }
}

TEST_CASE("rnn: outputs of a backwards loop are in the order of iteration") {
  const Tensor x = wide(Array(std::vector<double>{1, 2, 3}, {1, 3, 1}));
  RnnOptions options{};
  options.go_backwards = true;
  const RnnResult run = rnn(adding, x, {wide(Array::zeros({1, 1}))}, options);
  const Array outputs = compiled({}, {run.outputs})()[0];
  CHECK(difference(outputs, Array(std::vector<double>{30, 50, 60}, {1, 3, 1}), 0) == "");
}

TEST_CASE("rnn: input_length also cuts the mask") {
  const Tensor x = wide(Array(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3, 1}));
  const Tensor start = wide(Array(std::vector<double>{100, 200}, {2, 1}));
  struct Expected {
    bool backwards;
    std::vector<double> outputs;
  };
  const Expected rows[] = {{false, {0, 1020, 2040, 2040}}, {true, {1020, 1020, 0, 2040}}};
  for (const Expected& expected : rows) {
    for (const bool unroll : {false, true}) {
      INFO("backwards " << expected.backwards << ", unroll " << unroll);
      RnnOptions options = masked_options();
      options.input_length = 2;
      options.go_backwards = expected.backwards;
      options.unroll = unroll;
      const RnnResult run = rnn(adding, x, {start}, options);
      const auto result = compiled({}, {run.outputs, run.new_states[0], run.last_output})();
      CHECK(difference(result[0], Array(expected.outputs, {2, 2, 1}), 0) == "");
      CHECK(difference(result[1], Array(std::vector<double>{102, 204}, {2, 1}), 0) == "");
      CHECK(difference(result[2], Array(std::vector<double>{1020, 2040}, {2, 1}), 0) == "");
    }
  }
}

TEST_CASE("rnn: input_length unrolls a masked loop of unknown length") {
  const Tensor x = placeholder({.shape = {2, None, 1}, .dtype = "float64"});
  const Tensor mask = placeholder({.shape = {2, None, 1}, .dtype = "int32"});
  RnnOptions options{};
  options.input_length = 2;
  options.mask = mask;
  options.unroll = true;
  const RnnResult run = rnn(adding, x, {wide(Array::zeros({2, 1}))}, options);
  const Function f = compiled({x, mask}, {run.outputs});
  const Array feed(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3, 1});
  const Array outputs = f({feed, mask_array().reshape({2, 3, 1})})[0];
  CHECK(difference(outputs, Array(std::vector<double>{0, 20, 40, 40}, {2, 2, 1}), 0) == "");
  const Array one_step = Array::zeros({2, 1, 1}, DType::Float64);
  const Array one_mask = Array::zeros({2, 1, 1}, DType::Int32);
  try {
    f({one_step, one_mask});
    FAIL("nothing was thrown");
  } catch (const ValueError& error) {
    const std::string slice =
        "rnn: slice 0:2 of axis 0 is outside of 0:input_0.1 (bool[input_0.1,2]); in this call";
    CHECK(error.message().substr(0, slice.size()) == slice);
    CHECK(error.message().find("axis 1 of input 0 (unnamed) is 1") != std::string::npos);
  }
}

TEST_CASE("rnn: a backwards loop passes its constants to each step") {
  const Tensor x = wide(Array(std::vector<double>{1, 2, 3}, {1, 3, 1}));
  const auto step = [](const Tensor& in, const Tensors& states) {
    REQUIRE(states.size() == 3);
    const Tensor next = states[0] * states[1] + in * states[2];
    return StepResult{next, {next}};
  };
  for (const bool unroll : {false, true}) {
    INFO("unroll " << unroll);
    RnnOptions options{};
    options.go_backwards = true;
    options.constants = {wide(2.0), wide(10.0)};
    options.unroll = unroll;
    const RnnResult run = rnn(step, x, {wide(Array(std::vector<double>{1}, {1, 1}))}, options);
    const auto result = compiled({}, {run.outputs, run.new_states[0]})();
    const std::vector<double> outputs{32, 84, 178};
    CHECK(difference(result[0], Array(outputs, {1, 3, 1}), 0) == "");
    CHECK(difference(result[1], Array(std::vector<double>{178}, {1, 1}), 0) == "");
  }
}

TEST_CASE("rnn: over no steps the output is zeros and the states stay") {
  const Tensor x = placeholder({.shape = {2, None, 1}, .dtype = "float64"});
  const Tensor h = input({2, 1});
  const RnnResult run = rnn(adding, x, {h});
  const Tensor gradient = gradients(sum(run.new_states[0]), {h})[0];
  const Function f = compiled({x, h}, {run.last_output, run.outputs, run.new_states[0], gradient});
  const Array state(std::vector<double>{3, 4}, {2, 1});
  const auto result = f({Array::zeros({2, 0, 1}), state});
  CHECK(difference(result[0], Array::zeros({2, 1}, DType::Float64), 0) == "");
  CHECK(result[1].dims() == std::vector<std::int64_t>{2, 0, 1});
  CHECK(difference(result[2], state, 0) == "");
  CHECK(difference(result[3], Array(std::vector<double>{1, 1}, {2, 1}), 0) == "");
}

TEST_CASE("rnn: input_length bounds the steps") {
  const Tensor x = placeholder({.shape = {1, None, 1}, .dtype = "float64"});
  const Array feed(std::vector<double>{1, 2, 3}, {1, 3, 1});
  for (const bool unroll : {false, true}) {
    RnnOptions options{};
    options.input_length = 2;
    options.unroll = unroll;
    const RnnResult run = rnn(adding, x, {wide(Array::zeros({1, 1}))}, options);
    const Array outputs = compiled({x}, {run.outputs})({feed})[0];
    CHECK(difference(outputs, Array(std::vector<double>{10, 30}, {1, 2, 1}), 0) == "");
  }
}

struct Dropped {
  bool unroll = false, backwards = false, mask = false;
};

/// Masks the first step of the second sample, and the second and last step of the first one.
const std::vector<std::int32_t> kDroppedMask{1, 0, 1, 0, 0, 1, 1, 1};

/// The sum over a loop with dropout inside, its gradient, and the outputs, for that input.
std::vector<Array> dropped(const Dropped& setting, const Array& feed) {
  set_random_seed(7);
  const Tensor x = input({2, 4, 3});
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) -> StepResult {
    const Tensor next = dropout(tanh(in + 0.5 * states[0]), 0.5, {.seed = 3});
    return {next, {next}};
  };
  RnnOptions options{};
  options.unroll = setting.unroll;
  options.go_backwards = setting.backwards;
  if (setting.mask) options.mask = constant(Array(kDroppedMask, {2, 4}), {.dtype = "int32"});
  const RnnResult run = rnn(step, x, {wide(Array::zeros({2, 3}))}, options);
  const Tensor loss = sum(square(run.outputs));
  return compiled({x}, {loss, gradients(loss, {x})[0], run.outputs})({feed});
}

TEST_CASE("rnn: dropout in a step draws anew at each step, unrolled or not") {
  const Array feed = ramp({2, 4, 3}, 1, 0.4);
  for (const bool backwards : {false, true}) {
    INFO("backwards " << backwards);
    const auto loop = dropped({false, backwards}, feed), copies = dropped({true, backwards}, feed);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      CHECK(difference(loop[i], copies[i], 1e-12) == "");
    }
    // Half of the 24 elements are zero, at different positions in every step.
    const auto outputs = loop[2].as<double>();
    const auto zeros = std::count(outputs.begin(), outputs.end(), 0.0);
    CHECK(zeros > 3);
    CHECK(zeros < 21);
    bool differs = false;
    for (std::size_t i = 0; i < 3; ++i) differs |= (outputs[i] == 0) != (outputs[3 + i] == 0);
    for (std::size_t i = 0; i < 3; ++i) differs |= (outputs[i] == 0) != (outputs[6 + i] == 0);
    CHECK(differs);
  }
}

TEST_CASE("rnn: dropout in a masked step affects neither outputs nor gradients") {
  const Array feed = ramp({2, 4, 3}, 1, 0.4);
  for (const bool backwards : {false, true}) {
    INFO("backwards " << backwards);
    const auto loop = dropped({false, backwards, true}, feed);
    const auto copies = dropped({true, backwards, true}, feed);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      CHECK(difference(loop[i], copies[i], 1e-12) == "");
    }
    const auto gradient = loop[1].as<double>(), outputs = loop[2].as<double>();
    int felt = 0;
    for (std::size_t sample = 0; sample < 2; ++sample) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t time = backwards ? 3 - i : i;
        for (std::size_t feature = 0; feature < 3; ++feature) {
          const std::size_t at = (sample * 4 + i) * 3 + feature;
          const double slope = gradient[(sample * 4 + time) * 3 + feature];
          if (kDroppedMask[sample * 4 + time] != 0) {
            felt += slope != 0;
            continue;
          }
          CHECK(slope == 0);
          CHECK(outputs[at] == (i == 0 ? 0.0 : outputs[at - 3]));
        }
      }
    }
    CHECK(felt > 1);
    CHECK(felt < 15);  // of 5 steps with 3 features each
  }
}

TEST_CASE("rnn: the gradient of dropout in a step uses the same draws") {
  const Array feed = ramp({2, 4, 3}, 1, 0.4);
  constexpr double kStep = 1e-6;
  for (const bool mask : {false, true}) {
    INFO("mask " << mask);
    const Dropped setting{false, false, mask};
    const Array gradient = dropped(setting, feed)[1];
    for (std::size_t i = 0; i < 24; i += 5) {
      Array up = feed, down = feed;
      up.as<double>()[i] += kStep;
      down.as<double>()[i] -= kStep;
      const double slope =
          (dropped(setting, up)[0].item<double>() - dropped(setting, down)[0].item<double>()) /
          (2 * kStep);
      CHECK(gradient.as<double>()[i] == Approx(slope).epsilon(1e-5).margin(1e-7));
    }
  }
}

}  // namespace
}  // namespace kiln::test
