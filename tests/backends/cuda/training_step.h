// A step of training with one of everything: a loop and its gradient, random numbers, a constant,
// updates. Its sizes follow those of its input.
#pragma once

#include <kiln/k.h>

#include <string>
#include <vector>

namespace cuda_test {

struct TrainingStep {
  explicit TrainingStep(const std::string& backend)
      : w(kiln::variable(kiln::Array::full({3, 3}, 0.25), {.name = "w"})),
        velocity(kiln::variable(kiln::Array::zeros({3, 3}), {.name = "velocity"})) {
    const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None, 4, 3}, .name = "x"});
    const kiln::Tensor start = kiln::sum(x, {.axis = {1}}) * 0.0;
    const auto cell = [this](const kiln::Tensor& input, const std::vector<kiln::Tensor>& states) {
      const kiln::Tensor next = kiln::tanh(kiln::dot(input, w) + states[0] * 0.5);
      return kiln::StepResult{next, {next}};
    };
    const kiln::Tensor last = kiln::rnn(cell, x, {start}).last_output;
    const kiln::Tensor wanted = kiln::constant(kiln::Array{1.f, 2.f, 4.f});
    const kiln::Tensor loss = kiln::mean(kiln::square(kiln::dropout(last, 0.5) - wanted));
    const kiln::Tensor slope = kiln::gradients(loss, {w})[0];
    const kiln::Tensor next = velocity * 0.5 - slope * 0.125;
    step = kiln::function({x}, {loss},
                          {.updates = {kiln::update(velocity, next), kiln::update(w, w + next)},
                           .name = "step",
                           .backend = backend});
    look = kiln::function({}, {w + 0.0, velocity + 0.0}, {.name = "look", .backend = backend});
  }

  static kiln::Array fed(std::int64_t rows) { return kiln::Array::full({rows, 4, 3}, 0.5); }

  kiln::Variable w, velocity;
  kiln::Function step, look;  // `look` returns both variables from the backend
};

}  // namespace cuda_test
