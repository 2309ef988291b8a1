// A small program with one of everything that backends do in their own ways (a fused kernel,
// matmuls, a loop, a reduction, an update), and its numbers, for hosts of every kind.
#pragma once

#include <kiln/k.h>

#include <cmath>
#include <vector>

namespace hosts_test {

/// The mean of the last state of a recurrent loop over `x` (rows, 6 steps, 8), through a matmul
/// with a weight that every call halves. A call with rows of ones returns `expected` per row.
struct Sample {
  explicit Sample(const std::string& backend, double weight = 0.125)
      : w(kiln::variable(kiln::Array::full({8, 16}, weight), {.name = "w"})) {
    const kiln::Tensor x = kiln::placeholder({.shape = {kiln::None, 6, 8}, .name = "x"});
    const kiln::Tensor start = kiln::dot(kiln::sum(x, {.axis = {1}}) * 0.0, w);
    const kiln::Tensor weights = w;
    const auto step = [weights](const kiln::Tensor& input,
                                const std::vector<kiln::Tensor>& states) {
      const kiln::Tensor next = kiln::tanh(kiln::dot(input, weights) + states[0] * 0.5);
      return kiln::StepResult{next, {next}};
    };
    const kiln::RnnResult run = kiln::rnn(step, x, {start});
    f = kiln::function(
        {x}, {kiln::mean(run.last_output, {.axis = {1}})},
        {.updates = {kiln::update(w, w * 0.5)}, .name = "sample", .backend = backend});
  }

  /// The result of a call for each row, for a weight.
  static float expected(double weight = 0.125) {
    double state = 0;
    for (int t = 0; t < 6; ++t) state = std::tanh(8 * weight + state * 0.5);
    return static_cast<float>(state);
  }

  /// Calls once; returns whether the numbers are right.
  bool right(std::int64_t rows, double weight) const {
    const kiln::Array y = f({kiln::Array::full({rows, 6, 8}, 1)})[0];
    bool same = y.size() == rows;
    for (const float value : y.as<float>()) same &= std::abs(value - expected(weight)) < 1e-5f;
    return same;
  }

  kiln::Variable w;
  kiln::Function f;
};

/// Whether a fresh sample works on `backend`, twice.
inline bool works_on(const std::string& backend) {
  const Sample sample(backend);
  return sample.right(3, 0.125) && sample.right(5, 0.0625);
}

}  // namespace hosts_test
