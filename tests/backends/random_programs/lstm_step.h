// The step of an LSTM, for programs whose loops the passes change.
#pragma once

#include <kiln/k.h>

#include <utility>
#include <vector>

namespace kiln::testing {

/// The step of states h and c, as Keras writes it: per gate a matmul of its own, and an invariant,
/// tanh of its kernel. REQUIRES: four kernels of each kind, of the gates i, f, c, o.
inline StepFunction lstm_step(std::vector<Tensor> kernels, std::vector<Tensor> recurrent) {
  return [kernels = std::move(kernels), recurrent = std::move(recurrent)](
             const Tensor& input, const std::vector<Tensor>& states) {
    const auto gate = [&](std::size_t i) {
      return dot(input, tanh(kernels[i])) + dot(states[0], recurrent[i]);
    };
    const Tensor c = sigmoid(gate(1)) * states[1] + sigmoid(gate(0)) * tanh(gate(2));
    const Tensor h = sigmoid(gate(3)) * tanh(c);
    return StepResult{h, {h, c}};
  };
}

}  // namespace kiln::testing
